// Draws plots as static SVG. The style sheet sets colours; shapes distinguish contenders without them.
import { figure } from "./format.ts";
import { html } from "./html.ts";
import type { Html } from "./html.ts";
import { marker } from "./marker.ts";

interface PlotPoint {
  readonly x: number;
  readonly y: number;
  /** Confidence interval; dense lines omit it. */
  readonly low?: number;
  readonly high?: number;
}

export interface PlotSeries {
  readonly contender: string;
  /** Contender whose colour and shape is used. @default the contender itself */
  readonly look?: string;
  readonly points: readonly PlotPoint[];
}

export interface ReferenceLine {
  readonly text: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface Panel {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly series: readonly PlotSeries[];
  readonly references: readonly ReferenceLine[];
  readonly verticals: readonly number[];
  /** Many points: lines without bars, with few markers. */
  readonly isDense: boolean;
  readonly y: Scale;
}

interface Scale {
  readonly low: number;
  readonly high: number;
  readonly isLog: boolean;
}

const WIDTH = 360;
const HEIGHT = 270;
const LEFT = 50;
const RIGHT = 12;
const TOP = 30;
const BOTTOM = 40;
/** Ratio of values from which the scale is logarithmic; small values would lie on the axis. */
const LOG_FROM = 20;
const DODGE = 3.5;
const MARKERS = 6;

/** Common scale of panels: from 0, or logarithmic for a wide range. */
export function scaleOf(values: readonly number[]): Scale {
  const usable = values.filter((value) => Number.isFinite(value) && value > 0);
  if (usable.length === 0) return { low: 0, high: 1, isLog: false };
  const [least, most] = [Math.min(...usable), Math.max(...usable)];
  if (most / least > LOG_FROM) return { low: roundBelow(least * 0.95), high: most * 1.3, isLog: true };
  return { low: 0, high: most * 1.08, isLog: false };
}

function roundBelow(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([5, 2].find((factor) => factor * power <= value) ?? 1);
}

export function panelSvg(panel: Panel): Html {
  const xs = panel.series.flatMap(({ points }) => points.map(({ x }) => x));
  const [xLow, xHigh] = xs.length === 0 ? [0, 1] : [Math.min(...xs), Math.max(...xs)];
  const pad = (xHigh - xLow || 1) * 0.05;
  const toX = (x: number): number =>
    LEFT + ((x - xLow + pad) / (xHigh - xLow + 2 * pad)) * (WIDTH - LEFT - RIGHT);
  const toY = yMap(panel.y);
  const summary = panel.series
    .map(
      ({ contender, points }) =>
        `${contender}: ${points.length > 12 ? `${points.length} points` : points.map(({ x, y }) => `${figure(y)} at ${figure(x)}`).join(", ")}`,
    )
    .join("; ");
  return html`<svg
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    role="img"
    aria-label="${panel.title}. ${panel.yTitle} by ${panel.xTitle}. ${summary}"
  >
    <text class="title" x="${LEFT}" y="16">${panel.title}</text>
    ${yAxis(panel, toY)}${xAxis(panel, xTicks(panel, xs, xLow, xHigh), toX)}
    ${panel.verticals.map((x) => html`<line class="change" x1="${n(toX(x))}" x2="${n(toX(x))}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" />`)}
    ${panel.references.map((line) => referenceSvg(line, toX, toY))}
    ${inOrder(panel.series).map((series) => seriesSvg(panel, series, panel.series.indexOf(series), toX, toY))}
  </svg>`;
}

/** Draws the report's focus last, on top. */
function inOrder(series: readonly PlotSeries[]): readonly PlotSeries[] {
  return series.toSorted((a, b) => Number(a.contender === "isochrone") - Number(b.contender === "isochrone"));
}

function yMap({ low, high, isLog }: Scale): (y: number) => number {
  const place = isLog ? Math.log : (value: number): number => value;
  return (y) => {
    const clamped = Math.min(high, Math.max(low, y));
    const share = (place(clamped) - place(low)) / (place(high) - place(low));
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
  };
}

function yAxis({ y, yTitle }: Panel, toY: (y: number) => number): Html {
  const ticks = y.isLog ? logTicks(y) : niceTicks(y.low, y.high, 5);
  return html`<g class="axis"
    >${ticks.map(
      (tick) =>
        html`<line
            class="grid"
            x1="${LEFT}"
            x2="${WIDTH - RIGHT}"
            y1="${n(toY(tick))}"
            y2="${n(toY(tick))}"
          /><text x="${LEFT - 6}" y="${n(toY(tick) + 3.5)}" text-anchor="end">${short(tick)}</text>`,
    )}<text
      class="name"
      transform="translate(12 ${(HEIGHT - BOTTOM + TOP) / 2}) rotate(-90)"
      text-anchor="middle"
      >${yTitle}</text
    ></g
  >`;
}

function xAxis({ xTitle }: Panel, ticks: readonly number[], toX: (x: number) => number): Html {
  const bottom = HEIGHT - BOTTOM;
  return html`<g class="axis"
    ><line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${bottom}" y2="${bottom}" />${ticks.map(
      (tick) =>
        html`<line x1="${n(toX(tick))}" x2="${n(toX(tick))}" y1="${bottom}" y2="${bottom + 4}" /><text
            x="${n(toX(tick))}"
            y="${bottom + 16}"
            text-anchor="middle"
            >${short(tick)}</text
          >`,
    )}<text class="name" x="${(WIDTH + LEFT - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle"
      >${xTitle}</text
    ></g
  >`;
}

function xTicks({ isDense }: Panel, xs: readonly number[], low: number, high: number): readonly number[] {
  const values = [...new Set(xs)].sort((a, b) => a - b);
  return isDense || values.length > 8 ? niceTicks(low, high, 6) : values;
}

function referenceSvg(
  { text, points }: ReferenceLine,
  toX: (x: number) => number,
  toY: (y: number) => number,
): Html {
  return html`<polyline
    class="reference"
    points="${points.map(({ x, y }) => `${n(toX(x))},${n(toY(y))}`).join(" ")}"
    ><title>${text}</title></polyline
  >`;
}

function seriesSvg(
  { isDense, series }: Panel,
  { contender, look = contender, points }: PlotSeries,
  index: number,
  toX: (x: number) => number,
  toY: (y: number) => number,
): Html {
  const dx = isDense ? 0 : (index - (series.length - 1) / 2) * DODGE;
  const line = points.map(({ x, y }) => `${n(toX(x) + dx)},${n(toY(y))}`).join(" ");
  const bars = isDense
    ? null
    : points.map(
        ({ x, y, low = y, high = y }) =>
          html`<path
            d="M${n(toX(x) + dx)} ${n(toY(low))}V${n(toY(high))}m-2.5 0h5M${n(toX(x) + dx - 2.5)} ${n(toY(low))}h5"
          />`,
      );
  // Marks few points of a dense line, each series at other points, so that overlapping lines stay distinct.
  const stride = isDense ? Math.max(1, Math.ceil(points.length / MARKERS)) : 1;
  const phase = Math.floor(((index + 0.5) / series.length) * stride);
  const marked = points.filter((_, at) => at % stride === phase % stride);
  const marks = marked.map(({ x, y }) => marker(look, toX(x) + dx, toY(y)));
  return html`<g class="series c-${look}"><polyline points="${line}" />${bars}${marks}</g> `;
}

export function niceTicks(low: number, high: number, count: number): readonly number[] {
  const rough = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step)
    ticks.push(Math.round(tick / step) * step || 0);
  return ticks;
}

function logTicks({ low, high }: Scale): readonly number[] {
  const ticks: number[] = [];
  const few = high / low > 1000 ? [1] : [1, 2, 5];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
    for (const factor of few)
      if (factor * power >= low * 0.999 && factor * power <= high) ticks.push(factor * power);
  return ticks;
}

function short(value: number): string {
  const rounded = Number(value.toPrecision(6));
  return Math.abs(rounded) >= 10_000 ? `${rounded / 1000}k` : String(rounded).replace("-", "\u2212");
}

function n(value: number): string {
  return value.toFixed(1);
}
