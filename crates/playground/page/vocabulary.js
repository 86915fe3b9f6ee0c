// Written by site/vocabulary.py; the colours are those of python/paceline/plots.
export const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222", "#8A8A8A", "#DCE6EE", "#882255", "#999933", "#332288", "#D0D0D0"];
export const DARK = ["#4AA8E8", "#FF8A4A", "#2FCB9B", "#E8A5CB", "#F4BC4A", "#9ADBFF", "#EEEEEE", "#A0A0A0", "#2B3A48", "#E0709F", "#CCCC66", "#A79BFF", "#505050"];
export const CYCLE = [0, 1, 2, 3, 4, 5, 6];
export const GREY = 7;
export const LOOKS = {"scream": 0, "scream-v2": 0, "gcc": 1, "cubic": 2, "bic": 2, "htcp": 2, "highspeed": 2, "bbr": 3, "bbr3": 3, "tfrc": 4, "ccid3": 4, "ccid2": 4, "sctp": 4, "newreno": 5, "reno": 5, "sack": 5, "tahoe": 5, "fixed": 6, "none": 6, "prague": 9, "dctcp": 9, "xcp": 9, "rcp": 9, "ledbat": 10, "vegas": 10, "tempo": 10, "copa": 10, "rap": 11, "urcp": 11, "um": 11, "nada": 11};
