// Colours of values. Steps are logarithmic and fixed (1, 2, 5, 10, ...), so that pictures are comparable.
// Larger values are further from the background, in about equal lightness steps, so that the order is visible
// without colour. Red marks losses.

export type Theme = "light" | "dark";

const STEPS: Readonly<Record<Theme, readonly string[]>> = {
  light: [
    "#f3e79d",
    "#d0da88",
    "#a6cd82",
    "#78bf87",
    "#4bae94",
    "#009ba3",
    "#057ea2",
    "#05659d",
    "#094c9b",
    "#322f78",
  ],
  dark: [
    "#393370",
    "#284992",
    "#0061a3",
    "#0379a7",
    "#0594b1",
    "#27aba4",
    "#58bf90",
    "#8fd079",
    "#cadd61",
    "#fdea60",
  ],
};

const INKS = ["#10161d", "#ffffff"] as const;

export const INK: Readonly<Record<Theme, string>> = { light: "#16202b", dark: "#f3f6f9" };
export const NOTHING: Readonly<Record<Theme, string>> = { light: "#eef1f4", dark: "#20262e" };
/** Pairs with too few answers for the shown percentile. */
export const SCARCE: Readonly<Record<Theme, string>> = { light: "#d9dfe6", dark: "#333c47" };
/** Pairs without any answer. */
export const DEAD: Readonly<Record<Theme, string>> = { light: "#c4122c", dark: "#f53c23" };

const EDGES_MS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200];
const EDGES_LOSS = [0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5];
const EDGES_SECONDS = [2, 5, 10, 20, 30, 60, 120, 300, 600];

export type Measure = "ms" | "loss" | "seconds";

const EDGES: Readonly<Record<Measure, readonly number[]>> = {
  ms: EDGES_MS,
  loss: EDGES_LOSS,
  seconds: EDGES_SECONDS,
};

export function stepOf(value: number, measure: Measure): number {
  const edges = EDGES[measure];
  let step = 0;
  while (step < edges.length && value >= edges[step]!) step++;
  return step;
}

export function colourOf(value: number, measure: Measure, theme: Theme): string {
  return STEPS[theme][stepOf(value, measure)]!;
}

export function inkOn(colour: string): string {
  return contrast(INKS[0], colour) >= contrast(INKS[1], colour) ? INKS[0] : INKS[1];
}

/** Remaining saturation of estimated or stale cells. */
const MUTED = 0.35;

/** Less saturation at equal luminance, so that an estimate does not look like another value. */
export function muted(colour: Rgb): Rgb {
  const grey = luminanceOf(colour);
  const part = (index: 0 | 1 | 2): number =>
    Math.round(255 * encoded(MUTED * linear(colour[index]) + (1 - MUTED) * grey));
  return [part(0), part(1), part(2)];
}

export function rgbSteps(theme: Theme): readonly Rgb[] {
  return STEPS[theme].map(rgbOf);
}

export type Rgb = readonly [red: number, green: number, blue: number];

export function rgbOf(colour: string): Rgb {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function legendOf(
  measure: Measure,
  theme: Theme,
): readonly { readonly colour: string; readonly from: number | null }[] {
  return STEPS[theme].map((colour, step) => ({
    colour,
    from: step === 0 ? null : EDGES[measure][step - 1]!,
  }));
}

const ZONES: Readonly<Record<Theme, readonly string[]>> = {
  light: [
    "#a9c9f5",
    "#f6d3a1",
    "#b5e2bd",
    "#dfc3ef",
    "#f4bcbc",
    "#d2d99c",
    "#a6dfe0",
    "#dccab3",
    "#c5cbd6",
    "#f3c3dd",
  ],
  dark: [
    "#2f5487",
    "#7d5a24",
    "#2f6a3e",
    "#644480",
    "#803f42",
    "#5a6122",
    "#24666a",
    "#68573f",
    "#4b5464",
    "#7b3c60",
  ],
};

/** Stable colours by position in the sorted list of zones. */
export function zoneColours(zones: Iterable<string>, theme: Theme): ReadonlyMap<string, string> {
  const colours = ZONES[theme];
  return new Map([...new Set(zones)].sort().map((zone, index) => [zone, colours[index % colours.length]!]));
}

/** WCAG 2 contrast, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [one, other] = [luminance(a), luminance(b)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

function luminance(colour: string): number {
  return luminanceOf(rgbOf(colour));
}

function luminanceOf([red, green, blue]: Rgb): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** Converts an sRGB component, 0 to 1, to linear light and back. */
function linear(part: number): number {
  const share = part / 255;
  return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

function encoded(light: number): number {
  return light <= 0.003_130_8 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055;
}
