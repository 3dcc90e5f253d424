import type { Link } from "@isochrone/topology";
import type { VNode } from "preact";
import { count as figureOf, milliseconds, percent } from "../../model/format.ts";
import { useWidth } from "../../parts/width.ts";
import { apart, barsOf, logAxisOf, type LogAxis, type MethodDistribution } from "./histogram-model.ts";
import { METHOD_NAMES, onAxis } from "./pair-model.ts";

const USUAL_WIDTH = 560;
const LEFT = 58;
const RIGHT = 14;
const HEAD = 20;
const NAMES = 16;
const BARS = 96;
const GAP = 16;
const PANEL = HEAD + NAMES + BARS + GAP;
const AXIS = 38;

const QUANTILES = [
  ["p50", "median"],
  ["p90", "p90"],
  ["p99", "p99"],
] as const;

export function Histogram(props: {
  readonly distributions: readonly MethodDistribution[];
  readonly links: readonly Link[];
}): VNode {
  const { place, width } = useWidth<HTMLDivElement>(USUAL_WIDTH);
  const axis = logAxisOf(props.distributions);
  const x = (ms: number): number => LEFT + onAxis(ms, axis.low, axis.high) * (width - LEFT - RIGHT);
  const ticks = apart(axis.ticks, x);
  const bottom = props.distributions.length * PANEL;
  const height = bottom + AXIS;
  return (
    <div ref={place}>
      <svg class="histogram" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={wordsOf(props.links)}>
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={x(tick)} x2={x(tick)} y1={HEAD + NAMES} y2={bottom - GAP + 4} />
            <text class="tick" x={x(tick)} y={bottom + 4} text-anchor="middle">
              {milliseconds(tick)}
            </text>
          </g>
        ))}
        <text class="tick" x={(LEFT + width - RIGHT) / 2} y={height - 6} text-anchor="middle">
          round-trip time, logarithmic
        </text>
        {props.distributions.map((each, index) => (
          <Panel
            key={`${each.method} ${each.ipFamily}`}
            distribution={each}
            link={props.links.find(
              ({ method, ipFamily }) => method === each.method && ipFamily === each.ipFamily,
            )}
            axis={axis}
            x={x}
            width={width}
            top={index * PANEL}
          />
        ))}
      </svg>
    </div>
  );
}

type ToX = (ms: number) => number;

function wordsOf(links: readonly Link[]): string {
  return links
    .filter(({ rttMs }) => rttMs.p50 !== null)
    .map(
      ({ method, rttMs: { p50, p90, p99 } }) =>
        `${METHOD_NAMES[method] ?? method}: median ${milliseconds(p50)}, p90 ${milliseconds(p90)}, p99 ${milliseconds(p99)}`,
    )
    .join("; ");
}

function Panel(props: {
  readonly distribution: MethodDistribution;
  readonly link: Link | undefined;
  readonly axis: LogAxis;
  readonly x: ToX;
  readonly width: number;
  readonly top: number;
}): VNode {
  const { distribution, link, axis, x, width, top } = props;
  const bars = barsOf(distribution, axis);
  const most = Math.max(...bars.map(({ share }) => share));
  const base = top + HEAD + NAMES + BARS;
  return (
    <g>
      <text class="label" x={LEFT} y={top + 13}>
        {METHOD_NAMES[distribution.method] ?? distribution.method}
        <tspan class="soft" dx={8}>
          {figureOf(distribution.count)} answers
        </tspan>
      </text>
      <text class="tick" x={LEFT - 6} y={base - BARS + 10} text-anchor="end">
        {percent(most)}
      </text>
      <text class="tick" x={LEFT - 6} y={base} text-anchor="end">
        0
      </text>
      <line class="base" x1={LEFT} x2={width - RIGHT} y1={base} y2={base} />
      {bars.map(({ fromMs, toMs, share, count }) => {
        const [left, right] = [x(fromMs), x(toMs)];
        const tall = Math.max(2, (share / most) * BARS);
        return (
          <rect
            key={fromMs}
            class="column"
            x={left}
            y={base - tall}
            width={Math.max(1.5, right - left - 0.75)}
            height={tall}
          >
            <title>{`${milliseconds(fromMs)} to ${milliseconds(toMs)}: ${figureOf(count)} answers, ${percent(share)}`}</title>
          </rect>
        );
      })}
      {link === undefined ? null : <Quantiles link={link} x={x} width={width} top={top + HEAD} base={base} />}
    </g>
  );
}

const NAME_WIDTH = 48;

function Quantiles(props: {
  readonly link: Link;
  readonly x: ToX;
  readonly width: number;
  readonly top: number;
  readonly base: number;
}): VNode {
  let free = Number.NEGATIVE_INFINITY;
  return (
    <>
      {QUANTILES.map(([key, name]) => {
        const ms = props.link.rttMs[key];
        if (ms === null) return null;
        const x = props.x(ms);
        // The median's name is left of its line, others right. Overlaps are resolved by tiles and table.
        const isLeft = key === "p50";
        const hasRoom = isLeft || (x >= free && x + NAME_WIDTH <= props.width);
        if (hasRoom) free = isLeft ? x : x + NAME_WIDTH / 2;
        return (
          <g key={key} class={`quantile ${key}`}>
            <line x1={x} x2={x} y1={props.top + 2} y2={props.base} />
            {hasRoom ? (
              <text
                class="tick"
                x={x + (isLeft ? -4 : 4)}
                y={props.top + 11}
                text-anchor={isLeft ? "end" : "start"}
              >
                {name}
              </text>
            ) : null}
          </g>
        );
      })}
    </>
  );
}
