import type { VNode } from "preact";
import type { ComponentChildren } from "preact";
import { zoneOf } from "../../model/cluster-view.ts";
import { milliseconds } from "../../model/format.ts";
import { linkTo } from "../../state/store.ts";
import { scaleBar, type Place } from "./map-layout.ts";
import { boxAround } from "./map-labels.ts";
import { MapNames } from "./map-names.tsx";
import type { Spot } from "./pod-layer.tsx";
import { spread, within } from "./spread.ts";

const EDGE = 36;
const NAMES = 70;

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** One scale for both axes, to keep distances true. */
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

const BAR_ROOM = 22;
/** Larger maps show no pods; spreading takes quadratic time. */
const MOST_APART = 250;

export function spotsOf(
  places: readonly Place[],
  field: Field,
  size: Size,
  radiusOf: (node: string) => number,
): Spot[] {
  const spots = places.map(({ node, x, y }) => ({
    name: node.name,
    x: field.x(x),
    y: field.y(y),
    radius: radiusOf(node.name),
  }));
  return places.length > MOST_APART ? spots : spread(spots, within(size, BAR_ROOM));
}

/** Nodes at their network coordinates: close means fast. Each links to the network as seen from it. */
export function CoordinateMap(props: {
  readonly places: readonly Place[];
  readonly spots: readonly Spot[];
  readonly size: Size;
  readonly colours: ReadonlyMap<string, string>;
  readonly under: ComponentChildren;
  readonly over: ComponentChildren;
}): VNode {
  const { places, spots, size, colours } = props;
  const field = fieldOf(places, size);
  const bar = scaleBar((size.width - 2 * EDGE) / field.scale);
  return (
    <svg
      id="map"
      viewBox={`0 0 ${size.width} ${size.height}`}
      role="group"
      aria-label={`Map of ${places.length} nodes by network coordinates`}
    >
      {places.map(({ node, heightMs }, index) => (
        <circle
          key={node.name}
          class="height"
          cx={spots[index]!.x.toFixed(1)}
          cy={spots[index]!.y.toFixed(1)}
          r={Math.min(60, 6 + Math.max(0, heightMs) * field.scale)}
          fill={colours.get(zoneOf(node))}
        />
      ))}
      {props.under}
      {places.map(({ node, heightMs }, index) => (
        <a
          key={node.name}
          href={linkTo({ page: "network", view: "map", from: node.name })}
          data-node={node.name}
          aria-label={`Look from ${node.name}`}
        >
          <title>{`${node.name}, ${node.region ?? "no region"} / ${zoneOf(node)}: height ${milliseconds(heightMs)}. Look from here`}</title>
          <circle
            class="node"
            cx={spots[index]!.x.toFixed(1)}
            cy={spots[index]!.y.toFixed(1)}
            r={places.length > 200 ? 4 : 6}
            fill={colours.get(zoneOf(node))}
          />
        </a>
      ))}
      {props.over}
      <MapNames
        spots={spots}
        size={size}
        reserved={[boxAround(EDGE - 4, size.height - BAR_ROOM, bar * field.scale + 80, BAR_ROOM)]}
      />
      <g transform={`translate(${EDGE} ${size.height - 14})`}>
        <path class="bar" d={`M 0 -5 V 0 H ${bar * field.scale} V -5`} />
        <text class="tick" x={bar * field.scale + 8} y={2}>
          {milliseconds(bar)}
        </text>
      </g>
    </svg>
  );
}
