package notify

func native(o options) Notifier { return newDesktop(o) }
