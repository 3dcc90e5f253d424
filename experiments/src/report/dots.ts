// Changes against the baseline, one row per point, for axes without a numeric scale.
import { percent } from "./format.ts";
import { html } from "./html.ts";
import type { Html } from "./html.ts";
import { marker } from "./marker.ts";
import { niceTicks } from "./plot.ts";

interface DotRow {
  readonly label: string;
  readonly dots: readonly {
    readonly contender: string;
    readonly mean: number;
    readonly low: number;
    readonly high: number;
  }[];
}

const WIDTH = 720;
const LETTER = 6;
const LEAST_LABELS = 90;
const MOST_LABELS = 320;
const RIGHT = 16;
const ROW = 12;
const GAP = 10;
const TOP = 10;
const BOTTOM = 38;
/** Longer bars are clipped, so that one outlier doesn't compress the others. */
export const MOST = 2;

export function dotPlot(title: string, rows: readonly DotRow[]): Html {
  const all = rows.flatMap(({ dots }) => dots.flatMap(({ low, high }) => [low, high]));
  const least = Math.min(-0.1, ...all);
  const most = Math.min(MOST, Math.max(0.1, ...all));
  const margin = (most - least) * 0.03;
  const [low, high] = [least - margin, most + margin];
  const left = labelsWidth(rows);
  const toX = (value: number): number =>
    left + ((Math.min(high, Math.max(low, value)) - low) / (high - low)) * (WIDTH - left - RIGHT);
  const heights = rows.map(({ dots }) => Math.max(1, dots.length) * ROW + GAP);
  const total = heights.reduce((sum, height) => sum + height, 0);
  const bottom = TOP + total;
  let y = TOP;
  const drawn = rows.map((row, index) => {
    const top = y;
    y += heights[index]!;
    return rowSvg(row, top, heights[index]!, left, toX);
  });
  const ticks = niceTicks(low, high, 7);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title}">
    <svg class="wide" viewBox="0 0 ${WIDTH} ${bottom + BOTTOM}" role="img" aria-label="${title}">
      <g class="axis">
        ${ticks.map((tick) => html`<line class="grid" x1="${x(toX(tick))}" x2="${x(toX(tick))}" y1="${TOP}" y2="${bottom}" /><text x="${x(toX(tick))}" y="${bottom + 14}" text-anchor="middle">${percent(tick, true)}</text>`)}
        <line x1="${x(toX(0))}" x2="${x(toX(0))}" y1="${TOP}" y2="${bottom}" />
        <text class="name" x="${(left + WIDTH - RIGHT) / 2}" y="${bottom + 32}" text-anchor="middle">
          change of the p95 against the baseline
        </text>
      </g>
      ${drawn}
    </svg>
  </div>`;
}

function labelsWidth(rows: readonly DotRow[]): number {
  const longest = Math.max(0, ...rows.map(({ label }) => label.length));
  return Math.min(MOST_LABELS, Math.max(LEAST_LABELS, longest * LETTER + 16));
}

function rowSvg(
  { label, dots }: DotRow,
  top: number,
  height: number,
  left: number,
  toX: (value: number) => number,
): Html {
  return html`<text class="label" x="${left - 10}" y="${x(top + height / 2 + 3.5)}" text-anchor="end"
      >${label}</text
    >${dots.map(({ contender, mean, low, high }, index) => {
      const y = top + GAP / 2 + (index + 0.5) * ROW;
      return html`<g class="series c-${contender}"
        ><path
          d="M${x(toX(low))} ${x(y)}H${x(toX(high))}m0 -2.5v5M${x(toX(low))} ${x(y - 2.5)}v5"
        />${high > MOST ? html`<path d="M${x(toX(high) + 6)} ${x(y - 4)}l5 4l-5 4" />` : null}${marker(contender, toX(mean), y)}</g
      >`;
    })} `;
}

function x(value: number): string {
  return value.toFixed(1);
}
