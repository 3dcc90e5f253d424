import type { VNode } from "preact";
import type { ComponentChildren } from "preact";
import { zoneOf } from "../../model/cluster-view.ts";
import { milliseconds } from "../../model/format.ts";
import { linkTo } from "../../state/store.ts";
import { NodeNames } from "./isochrone-map.tsx";
import { scaleBar, type Place } from "./map-layout.ts";
import type { Spot } from "./pod-layer.tsx";

const EDGE = 36;
/** Beside the outermost nodes, for their names. */
const NAMES = 70;

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** One scale for both directions: a map that is stretched would lie. */
interface Field {
  readonly scale: number;
  x(ms: number): number;
  y(ms: number): number;
}

export function fieldOf(places: readonly Place[], { width, height }: Size): Field {
  const [xs, ys] = [places.map(({ x }) => x), places.map(({ y }) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min(
    (width - 2 * EDGE - NAMES) / Math.max(right - left, 0.01),
    (height - 2 * EDGE - 20) / Math.max(bottom - top, 0.01),
    1000,
  );
  const [middleX, middleY] = [(left + right) / 2, (top + bottom) / 2];
  return {
    scale,
    x: (ms) => width / 2 + (ms - middleX) * scale,
    y: (ms) => height / 2 - 10 + (ms - middleY) * scale,
  };
}

export const spotsOf = (places: readonly Place[], field: Field): Spot[] =>
  places.map(({ node, x, y }) => ({ name: node.name, x: field.x(x), y: field.y(y) }));

/** The nodes where the network puts them: near means quick. Each leads to the network as it sees it. */
export function CoordinateMap(props: {
  readonly places: readonly Place[];
  readonly size: Size;
  readonly colours: ReadonlyMap<string, string>;
  /** Drawn before the nodes, and after them. */
  readonly under: ComponentChildren;
  readonly over: ComponentChildren;
}): VNode {
  const { places, size, colours } = props;
  const field = fieldOf(places, size);
  const bar = scaleBar((size.width - 2 * EDGE) / field.scale);
  return (
    <svg
      id="map"
      viewBox={`0 0 ${size.width} ${size.height}`}
      role="group"
      aria-label={`Map of ${places.length} nodes by network coordinates`}
    >
      {places.map(({ node, x, y, heightMs }) => (
        <circle
          key={node.name}
          class="height"
          cx={field.x(x).toFixed(1)}
          cy={field.y(y).toFixed(1)}
          r={Math.min(60, 6 + Math.max(0, heightMs) * field.scale)}
          fill={colours.get(zoneOf(node))}
        />
      ))}
      {props.under}
      {places.map(({ node, x, y, heightMs }) => (
        <a
          key={node.name}
          href={linkTo({ page: "network", view: "map", from: node.name })}
          aria-label={`Look from ${node.name}`}
        >
          <title>{`${node.name}, ${node.region ?? "no region"} / ${zoneOf(node)}: height ${milliseconds(heightMs)}. Look from here`}</title>
          <circle
            class="node"
            cx={field.x(x).toFixed(1)}
            cy={field.y(y).toFixed(1)}
            r={places.length > 200 ? 4 : 6}
            fill={colours.get(zoneOf(node))}
          />
        </a>
      ))}
      {props.over}
      <NodeNames spots={spotsOf(places, field)} size={size} />
      <g transform={`translate(${EDGE} ${size.height - 14})`}>
        <path class="bar" d={`M 0 -5 V 0 H ${bar * field.scale} V -5`} />
        <text class="tick" x={bar * field.scale + 8} y={2}>
          {milliseconds(bar)}
        </text>
      </g>
    </svg>
  );
}
