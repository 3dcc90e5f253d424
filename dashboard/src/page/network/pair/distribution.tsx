import type { Link } from "@isochrone/topology";
import type { VNode } from "preact";
import { milliseconds } from "../../model/format.ts";
import { Empty } from "../../parts/common.tsx";
import { useWidth } from "../../parts/width.ts";
import { apart } from "./histogram-model.ts";
import { axisOf, onAxis } from "./pair-model.ts";

const USUAL_WIDTH = 600;
const LEFT = 92;
const ROW = 46;

/**
 * Median, p90 and p99 per method on one logarithmic axis: box from median to p90, line to p99, tick at the
 * mean.
 */
export function Distribution({ links }: { readonly links: readonly Link[] }): VNode {
  const measured = links.filter(({ rttMs }) => rttMs.p50 !== null);
  if (measured.length === 0)
    return (
      <Empty title="No answer in the window">
        A distribution needs measured round trips; an estimate has none.
      </Empty>
    );
  return <Drawing measured={measured} />;
}

function Drawing({ measured }: { readonly measured: readonly Link[] }): VNode {
  const { place, width } = useWidth<HTMLDivElement>(USUAL_WIDTH);
  const { low, high, ticks } = axisOf(
    measured.flatMap(({ rttMs: { p50, p90, p99, mean } }) =>
      [p50, p90, p99, mean].filter((value) => value !== null),
    ),
  );
  const x = (value: number): number => LEFT + onAxis(value, low, high) * (width - LEFT - 40);
  const height = measured.length * ROW + 30;
  const words = measured
    .map(
      ({ method, rttMs: { p50, p90, p99 } }) =>
        `${method}: median ${milliseconds(p50)}, p90 ${milliseconds(p90)}, p99 ${milliseconds(p99)}`,
    )
    .join("; ");
  return (
    <div ref={place} class="distribution">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words}>
        {apart(ticks, x).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={x(tick)} x2={x(tick)} y1={4} y2={height - 24} />
            <text class="tick" x={x(tick)} y={height - 6} text-anchor="middle">
              {milliseconds(tick)}
            </text>
          </g>
        ))}
        {measured.map((link, index) => (
          <Row key={`${link.method} ${link.ipFamily}`} link={link} x={x} y={index * ROW + ROW / 2 + 2} />
        ))}
      </svg>
    </div>
  );
}

function Row({
  link,
  x,
  y,
}: {
  readonly link: Link;
  readonly x: (value: number) => number;
  readonly y: number;
}): VNode {
  const { p50, p90, p99, mean } = link.rttMs;
  const end = p90 ?? p50!;
  return (
    <g>
      <text class="label" x={0} y={y + 4}>
        {link.method}
      </text>
      {p99 === null ? null : <line class="whisker" x1={x(end)} x2={x(p99)} y1={y} y2={y} />}
      {p99 === null ? null : <line class="whisker" x1={x(p99)} x2={x(p99)} y1={y - 7} y2={y + 7} />}
      <rect class="box" x={x(p50!)} y={y - 10} width={Math.max(3, x(end) - x(p50!))} height={20} rx={3} />
      <line class="median" x1={x(p50!)} x2={x(p50!)} y1={y - 13} y2={y + 13} />
      {mean === null ? null : <circle class="mean" cx={x(mean)} cy={y} r={3.5} />}
      <title>{`median ${milliseconds(p50)}, mean ${milliseconds(mean)}, p90 ${milliseconds(p90)}, p99 ${milliseconds(p99)}`}</title>
    </g>
  );
}
