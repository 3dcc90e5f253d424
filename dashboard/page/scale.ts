// Colours. Latency spans decades, so its scale is logarithmic; dark text is readable on every step.

const STEPS = ["#d3f0dc", "#bfe6c3", "#dbeaa2", "#f4e58c", "#fbcf7a", "#f7b26b", "#f09261", "#e8755c"];
const LOW_MS = 1;
const HIGH_MS = 300;

export function latencyColour(ms: number): string {
  const position = Math.log(Math.max(ms, LOW_MS) / LOW_MS) / Math.log(HIGH_MS / LOW_MS);
  return STEPS[Math.min(STEPS.length - 1, Math.floor(position * STEPS.length))]!;
}

export function lossColour(ratio: number): string {
  return STEPS[ratio === 0 ? 0 : Math.min(STEPS.length - 1, 2 + Math.floor(ratio * 20))]!;
}

/** Upper end of each step, for the legend. */
export function latencyLegend(): readonly { readonly colour: string; readonly uptoMs: number }[] {
  return STEPS.map((colour, step) => ({
    colour,
    uptoMs: LOW_MS * (HIGH_MS / LOW_MS) ** ((step + 1) / STEPS.length),
  }));
}

const ZONE_COLOURS = ["#a7c7f9", "#f9d5a7", "#b8e6c1", "#e3c1f0", "#f6b8b8", "#cfd8a3", "#a9e3e3", "#d9c7b0"];

/** A stable colour per zone: by its place in the sorted list of all. */
export function zoneColours(zones: readonly (string | null)[]): ReadonlyMap<string, string> {
  const names = [...new Set(zones.map((zone) => zone ?? "no zone"))].sort();
  return new Map(names.map((name, index) => [name, ZONE_COLOURS[index % ZONE_COLOURS.length]!]));
}
