on run argv
	do shell script "/usr/bin/env -i /bin/sh -c " & quoted form of (item 1 of argv) & " plimsoll " & quoted form of (item 2 of argv) with prompt (item 3 of argv) with administrator privileges
end run
