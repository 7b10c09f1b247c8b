package main

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"

	"plimsoll/app/view"
	"plimsoll/assets"
)

// Colours of our own beside Fyne's names.
const (
	colourCard           fyne.ThemeColorName = "plimsoll.card"
	colourWarningTint    fyne.ThemeColorName = "plimsoll.warningTint"
	colourCriticalTint   fyne.ThemeColorName = "plimsoll.criticalTint"
	colourWired          fyne.ThemeColorName = "plimsoll.wired"
	colourApp            fyne.ThemeColorName = "plimsoll.app"
	colourCompressed     fyne.ThemeColorName = "plimsoll.compressed"
	colourCompressedLine fyne.ThemeColorName = "plimsoll.compressedLine"
	colourCached         fyne.ThemeColorName = "plimsoll.cached"
	colourFree           fyne.ThemeColorName = "plimsoll.free"
	colourHeadroom       fyne.ThemeColorName = "plimsoll.headroom"
	colourSwap           fyne.ThemeColorName = "plimsoll.swap"
)

// palette gives each colour for light and dark. The hues are Okabe and Ito's
// (Color Universal Design, 2008), told apart by people of every colour vision;
// neighbours in the bar differ in lightness too, and what warns differs by
// shape. Text and its ground have a contrast of at least 4.5 to 1, which a test
// computes.
var palette = map[fyne.ThemeColorName][2]color.NRGBA{
	theme.ColorNameBackground:          {rgb(0xF4F5F7), rgb(0x16191D)},
	theme.ColorNameForeground:          {rgb(0x1A1F25), rgb(0xE9ECEF)},
	theme.ColorNamePlaceHolder:         {rgb(0x59626D), rgb(0x9FA9B4)},
	theme.ColorNameDisabled:            {rgb(0x8B949E), rgb(0x6B7580)},
	theme.ColorNameButton:              {rgb(0xE6E9ED), rgb(0x323941)},
	theme.ColorNameDisabledButton:      {rgb(0xEEF0F3), rgb(0x262B31)},
	theme.ColorNamePrimary:             {rgb(0x0A66B0), rgb(0x5AAEF0)},
	theme.ColorNameForegroundOnPrimary: {rgb(0xFFFFFF), rgb(0x0D1115)},
	theme.ColorNameHyperlink:           {rgb(0x0A66B0), rgb(0x5AAEF0)},
	theme.ColorNameFocus:               {rgba(0x0A66B0, 0x40), rgba(0x5AAEF0, 0x50)},
	theme.ColorNameHover:               {rgba(0x000000, 0x12), rgba(0xFFFFFF, 0x14)},
	theme.ColorNamePressed:             {rgba(0x000000, 0x22), rgba(0xFFFFFF, 0x2A)},
	theme.ColorNameSelection:           {rgba(0x0A66B0, 0x30), rgba(0x5AAEF0, 0x40)},
	theme.ColorNameSeparator:           {rgb(0xDDE1E6), rgb(0x2E353C)},
	theme.ColorNameInputBackground:     {rgb(0xF3F5F7), rgb(0x14171A)},
	theme.ColorNameInputBorder:         {rgb(0xB9C1CA), rgb(0x47505A)},
	theme.ColorNameMenuBackground:      {rgb(0xFFFFFF), rgb(0x262B31)},
	theme.ColorNameOverlayBackground:   {rgb(0xFFFFFF), rgb(0x22272D)},
	theme.ColorNameScrollBar:           {rgba(0x000000, 0x55), rgba(0xFFFFFF, 0x55)},
	theme.ColorNameSuccess:             {rgb(0x00714F), rgb(0x3DBE98)},
	theme.ColorNameWarning:             {rgb(0x9A5200), rgb(0xF0A83C)},
	theme.ColorNameError:               {rgb(0xB3261E), rgb(0xFF8577)},
	colourCard:                         {rgb(0xFFFFFF), rgb(0x1E2328)},
	colourWarningTint:                  {rgb(0xFFF0D9), rgb(0x38290F)},
	colourCriticalTint:                 {rgb(0xFDE5E2), rgb(0x431D1A)},
	colourWired:                        {rgb(0x005C97), rgb(0x2F8AD0)},
	colourApp:                          {rgb(0x62B8EA), rgb(0x8CCBF2)},
	colourCompressed:                   {rgb(0xE69F00), rgb(0xD98F00)},
	colourCompressedLine:               {rgb(0xA86F00), rgb(0x8A5A00)},
	colourCached:                       {rgb(0xB8C1CA), rgb(0x68737E)},
	colourFree:                         {rgb(0xE1E6EB), rgb(0x323A42)},
	colourHeadroom:                     {rgb(0x009E73), rgb(0x2BB58D)},
	colourSwap:                         {rgb(0xD55E00), rgb(0xE8762C)},
}

func rgb(hex uint32) color.NRGBA { return rgba(hex, 0xFF) }

func rgba(hex uint32, alpha uint8) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: alpha}
}

// sizeLine is the headline's second choice of size.
const sizeLine fyne.ThemeSizeName = "plimsoll.line"

// sizes are smaller than Fyne's: the window is narrow and holds many facts.
var sizes = map[fyne.ThemeSizeName]float32{
	theme.SizeNameText:            13,
	theme.SizeNameCaptionText:     11.5,
	theme.SizeNameSubHeadingText:  15,
	theme.SizeNameHeadingText:     24,
	sizeLine:                      18,
	theme.SizeNamePadding:         4,
	theme.SizeNameInnerPadding:    5,
	theme.SizeNameInlineIcon:      16,
	theme.SizeNameInputRadius:     5,
	theme.SizeNameModalBlurRadius: 0, // a shader at every frame, for a box of two lines
}

// appearance is the window's theme. With forced set it ignores the system's
// choice of light or dark, for pictures.
type appearance struct {
	forced *fyne.ThemeVariant
}

// Color implements fyne.Theme.
func (a appearance) Color(name fyne.ThemeColorName, variant fyne.ThemeVariant) color.Color {
	if a.forced != nil {
		variant = *a.forced
	}
	if pair, ok := palette[name]; ok {
		if variant == theme.VariantLight {
			return pair[0]
		}
		return pair[1]
	}
	return theme.DefaultTheme().Color(name, variant)
}

// hanRegular and hanBold stand before Fyne's own fonts, which Fyne falls back to
// for every letter and digit. Thus Chinese looks the same on every system.
var (
	hanRegular = fyne.NewStaticResource("han-regular.otf", assets.HanRegular)
	hanBold    = fyne.NewStaticResource("han-bold.otf", assets.HanBold)
)

// Font implements fyne.Theme.
func (a appearance) Font(style fyne.TextStyle) fyne.Resource {
	switch {
	case style.Monospace, style.Symbol:
		return theme.DefaultTheme().Font(style)
	case style.Bold:
		return hanBold
	}
	return hanRegular
}

// Icon implements fyne.Theme.
func (a appearance) Icon(name fyne.ThemeIconName) fyne.Resource {
	return theme.DefaultTheme().Icon(name)
}

// Size implements fyne.Theme.
func (a appearance) Size(name fyne.ThemeSizeName) float32 {
	if size, ok := sizes[name]; ok {
		return size
	}
	return theme.DefaultTheme().Size(name)
}

// colour is a named colour as the theme in force has it now.
func colour(name fyne.ThemeColorName) color.NRGBA {
	settings := fyne.CurrentApp().Settings()
	return color.NRGBAModel.Convert(settings.Theme().Color(name, settings.ThemeVariant())).(color.NRGBA)
}

// The shapes of the levels. A level is never told by colour alone: a ring, a
// disc, a triangle and an octagon.
var shapes = map[view.Level]fyne.Resource{
	view.Unknown:  shape("unknown", theme.ColorNamePlaceHolder, `<path d="M8 3a5 5 0 1 0 0 10A5 5 0 1 0 8 3Zm0 1.7a3.3 3.3 0 1 1 0 6.6A3.3 3.3 0 1 1 8 4.7Z" fill-rule="evenodd"/>`),
	view.Normal:   shape("normal", theme.ColorNameSuccess, `<circle cx="8" cy="8" r="4.4"/>`),
	view.Warning:  shape("warning", theme.ColorNameWarning, `<path d="M8 1.6 15.2 14.2H.8ZM7.1 6.2v4h1.8v-4Zm0 5v1.7h1.8v-1.7Z" fill-rule="evenodd"/>`),
	view.Critical: shape("critical", theme.ColorNameError, `<path d="M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1ZM7.1 4v5h1.8v-5Zm0 6.2V12h1.8v-1.8Z" fill-rule="evenodd"/>`),
}

func shape(name string, colour fyne.ThemeColorName, inner string) fyne.Resource {
	svg := `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">` + inner + `</svg>`
	return theme.NewColoredResource(fyne.NewStaticResource(name+".svg", []byte(svg)), colour)
}

// levelColour is the colour of text at a level.
func levelColour(level view.Level) fyne.ThemeColorName {
	switch level {
	case view.Warning:
		return theme.ColorNameWarning
	case view.Critical:
		return theme.ColorNameError
	}
	return theme.ColorNameForeground
}
