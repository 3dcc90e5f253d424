// Background colours of values, with the steps of the page's matrix in its dark theme.
import { visibleLines } from "@isochrone/runtime/basics";

export interface Canvas {
  /** Colour bits: 8 is the 256-colour palette. */
  readonly depth: 8 | 24;
  readonly columns: number;
}

type Rgb = readonly [red: number, green: number, blue: number];

const STEPS: readonly Rgb[] = [
  [57, 51, 112],
  [40, 73, 146],
  [0, 97, 163],
  [3, 121, 167],
  [5, 148, 177],
  [39, 171, 164],
  [88, 191, 144],
  [143, 208, 121],
  [202, 221, 97],
  [253, 234, 96],
];
const LOST: Rgb = [196, 18, 44];
export const HEAT_EDGES_MS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200] as const;
const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [16, 22, 29];
/** Luminance at which black and white text are equally readable. */
const DARK_INK_ABOVE = 0.18;
const RESET = "\u001b[0m";

interface Stream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  getColorDepth?(): number;
}

const DEFAULT_COLUMNS = 80;

/** Null without colours: no terminal, NO_COLOR, or fewer than 256 colours. */
export function canvasOn(stream: Stream): Canvas | null {
  const depth = stream.isTTY === true ? (stream.getColorDepth?.() ?? 1) : 1;
  if (depth < 8) return null;
  // A terminal of unknown width reports 0.
  return { depth: depth >= 24 ? 24 : 8, columns: stream.columns || DEFAULT_COLUMNS };
}

/** @param ms null: lost */
export function paintedMs(text: string, ms: number | null, { depth }: Canvas): string {
  const back = ms === null ? LOST : STEPS[HEAT_EDGES_MS.filter((edge) => ms >= edge).length]!;
  const ink = lightOf(back) / lightOf(WHITE) > DARK_INK_ABOVE ? BLACK : WHITE;
  return `\u001b[38;${code(ink, depth)};48;${code(back, depth)}m${text}${RESET}`;
}

function lightOf([red, green, blue]: Rgb): number {
  return 0.2126 * red ** 2.2 + 0.7152 * green ** 2.2 + 0.0722 * blue ** 2.2;
}

function code(rgb: Rgb, depth: Canvas["depth"]): string {
  if (depth === 24) return `2;${rgb.join(";")}`;
  const [red, green, blue] = rgb;
  return `5;${16 + 36 * levelOf(red) + 6 * levelOf(green) + levelOf(blue)}`;
}

function levelOf(part: number): number {
  return CUBE.indexOf(nearest(part));
}

const CUBE: readonly number[] = [0, 95, 135, 175, 215, 255];

function nearest(part: number): number {
  return CUBE.reduce((best, level) => (Math.abs(level - part) < Math.abs(best - part) ? level : best));
}

// oxlint-disable-next-line no-control-regex
const OURS = /(\u001b\[38;[0-9;]+;48;[0-9;]+m|\u001b\[0m)/;

/** As `visibleLines`, but keeps {@link paintedMs} output. Untrusted text must be escaped before. */
export function visiblePainted(text: string): string {
  return text
    .split(OURS)
    .map((part, index) => (index % 2 === 1 ? part : visibleLines(part)))
    .join("");
}
