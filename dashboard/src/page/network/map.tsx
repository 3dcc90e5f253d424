import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { zoneOf } from "../model/cluster-view.ts";
import { milliseconds } from "../model/format.ts";
import { shortNames } from "../model/names.ts";
import { zoneColours } from "../model/scale.ts";
import { Empty, Name } from "../parts/common.tsx";
import { cluster, theme } from "../store.ts";
import { mapOf, scaleBar, type Place } from "./map-layout.ts";

const WIDTH = 900;
const HEIGHT = 560;
const EDGE = 60;
/** More names than this cover each other. */
const MAX_NAMES = 40;

/** The nodes where the network puts them: near means quick. */
export function NetworkMap(): VNode {
  const view = cluster.value!;
  const places = useMemo(() => mapOf(view.nodes), [view]);
  const colours = zoneColours(view.nodes.map(zoneOf), theme.value);
  if (places.length === 0)
    return (
      <Empty title="No coordinates yet">
        Nodes get network coordinates once enough pairs are measured, usually within a minute;{" "}
        {view.nodes.length} nodes wait for theirs.
      </Empty>
    );
  const field = fieldOf(places);
  const names = shortNames(
    places.map(({ node }) => node.name),
    20,
  );
  const without = view.nodes.length - places.length;
  const bar = scaleBar((WIDTH - 2 * EDGE) / field.scale);
  const error = view.coordinates?.medianRelativeError ?? null;
  return (
    <div class="map">
      <p class="soft">
        Distance on the map is round-trip time, as far as two dimensions can show it; the ring around a node
        is what every way to it costs in addition.
        {error === null
          ? ""
          : ` Half of the pairs are estimated within ${Math.round(error * 100)} % of what is measured.`}
        {without > 0 ? ` ${without} nodes have no coordinate.` : ""}
      </p>
      <svg
        id="map"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Map of ${places.length} nodes by network coordinates`}
      >
        {places.map(({ node, x, y, heightMs }) => {
          const [left, top] = [field.x(x), field.y(y)];
          const colour = colours.get(zoneOf(node))!;
          return (
            <g key={node.name} transform={`translate(${left.toFixed(1)} ${top.toFixed(1)})`}>
              <title>{`${node.name}, ${node.region ?? "no region"} / ${zoneOf(node)}: height ${milliseconds(heightMs)}`}</title>
              <circle
                class="height"
                r={Math.min(60, 6 + Math.max(0, heightMs) * field.scale)}
                fill={colour}
              />
              <circle class="node" r={places.length > 200 ? 4 : 6} fill={colour} />
            </g>
          );
        })}
        {places.length > MAX_NAMES
          ? null
          : labelsOf(places, field).map(({ place, x, y }) => (
              <text
                key={place.node.name}
                class="label"
                x={x}
                y={y}
                text-anchor={x > WIDTH * 0.8 ? "end" : "start"}
              >
                {names.get(place.node.name)}
              </text>
            ))}
        <g transform={`translate(${EDGE} ${HEIGHT - 18})`}>
          <path class="bar" d={`M 0 -5 V 0 H ${bar * field.scale} V -5`} />
          <text class="tick" x={bar * field.scale + 8} y={2}>
            {milliseconds(bar)}
          </text>
        </g>
      </svg>
      <ul class="keys" aria-label="Zones">
        {[...colours].map(([zone, colour]) => (
          <li key={zone}>
            <i style={{ backgroundColor: colour }} /> <Name>{zone}</Name>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface Field {
  readonly scale: number;
  x(ms: number): number;
  y(ms: number): number;
}

/** One scale for both directions: a map that is stretched would lie. */
function fieldOf(places: readonly Place[]): Field {
  const [xs, ys] = [places.map(({ x }) => x), places.map(({ y }) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min(
    (WIDTH - 2 * EDGE - 60) / Math.max(right - left, 0.01),
    (HEIGHT - 2 * EDGE) / Math.max(bottom - top, 0.01),
    1000,
  );
  const [middleX, middleY] = [(left + right) / 2, (top + bottom) / 2];
  return {
    scale,
    x: (ms) => WIDTH / 2 + (ms - middleX) * scale,
    y: (ms) => HEIGHT / 2 + (ms - middleY) * scale,
  };
}

/** Names beside their nodes, moved down where they would lie upon each other. */
function labelsOf(
  places: readonly Place[],
  field: Field,
): { readonly place: Place; readonly x: number; readonly y: number }[] {
  const done: { place: Place; x: number; y: number }[] = [];
  for (const place of [...places].sort((a, b) => a.y - b.y)) {
    const x = field.x(place.x) + (field.x(place.x) > WIDTH * 0.8 ? -11 : 11);
    let y = field.y(place.y) + 4;
    while (done.some((other) => Math.abs(other.x - x) < 110 && Math.abs(other.y - y) < 14)) y += 14;
    done.push({ place, x, y });
  }
  return done;
}
