// Colours of values. Latency spans decades, so its steps are logarithmic: 1, 2, 5, 10, ... They are the same whatever is shown, so that two
// pictures can be compared. Ink is readable on every step (4.5:1 or more), in both themes.

export type Theme = "light" | "dark";

const STEPS: Readonly<Record<Theme, readonly string[]>> = {
  light: [
    "#cfe8e4",
    "#c3e6cf",
    "#cfe9b8",
    "#e2ecab",
    "#f3ea9f",
    "#f9db8c",
    "#f8c27a",
    "#f3a46c",
    "#ec8463",
    "#e4685f",
  ],
  dark: [
    "#1b4a4a",
    "#1f5140",
    "#345733",
    "#4a5a2a",
    "#5f5c22",
    "#765820",
    "#8a5021",
    "#9a4425",
    "#a8372a",
    "#b92a33",
  ],
};

export const INK: Readonly<Record<Theme, string>> = { light: "#16202b", dark: "#f3f6f9" };
/** Of cells of which nothing is known. */
export const NOTHING: Readonly<Record<Theme, string>> = { light: "#eef1f4", dark: "#20262e" };
/** Of pairs that don't answer at all. */
export const DEAD: Readonly<Record<Theme, string>> = { light: "#5c2330", dark: "#f0a3a8" };

/** Lower ends of the steps after the first. */
const EDGES_MS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200];
const EDGES_LOSS = [0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5];
const EDGES_SECONDS = [2, 5, 10, 20, 30, 60, 120, 300, 600];

export type Measure = "ms" | "loss" | "seconds";

const EDGES: Readonly<Record<Measure, readonly number[]>> = {
  ms: EDGES_MS,
  loss: EDGES_LOSS,
  seconds: EDGES_SECONDS,
};

/** The step of a value, 0 to 9. */
export function stepOf(value: number, measure: Measure): number {
  const edges = EDGES[measure];
  let step = 0;
  while (step < edges.length && value >= edges[step]!) step++;
  return step;
}

export function colourOf(value: number, measure: Measure, theme: Theme): string {
  return STEPS[theme][stepOf(value, measure)]!;
}

/** The steps as red, green and blue, for pixels. */
export function rgbSteps(theme: Theme): readonly (readonly [number, number, number])[] {
  return STEPS[theme].map(rgbOf);
}

export function rgbOf(colour: string): readonly [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The legend: colour and what it begins at; null for the lowest. */
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

/** A stable colour per zone: by its place in the sorted list of all. */
export function zoneColours(zones: Iterable<string>, theme: Theme): ReadonlyMap<string, string> {
  const colours = ZONES[theme];
  return new Map([...new Set(zones)].sort().map((zone, index) => [zone, colours[index % colours.length]!]));
}

/** Contrast of two colours as WCAG 2 has it, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = rgbOf(colour).map((part) => {
    const share = part / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
