import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { zoneOf } from "../model/cluster-view.ts";
import { milliseconds } from "../model/format.ts";
import { shortNames } from "../model/names.ts";
import { zoneColours } from "../model/scale.ts";
import { Empty, Name } from "../parts/common.tsx";
import { useWidth } from "../parts/width.ts";
import { cluster, theme } from "../store.ts";
import { labelsOf } from "./map-labels.ts";
import { mapOf, scaleBar, type Place } from "./map-layout.ts";

const USUAL_WIDTH = 640;
const EDGE = 36;
/** Beside the outermost nodes, for their names. */
const NAMES = 70;
/** More names than this cover each other. */
const MAX_NAMES = 40;

/** The nodes where the network puts them: near means quick. */
export function NetworkMap(): VNode {
  const view = cluster.value!;
  const { place: holder, width } = useWidth<HTMLDivElement>(USUAL_WIDTH);
  const places = useMemo(() => mapOf(view.nodes), [view]);
  const colours = zoneColours(view.nodes.map(zoneOf), theme.value);
  if (places.length === 0)
    return (
      <div ref={holder}>
        <Empty title="No coordinates yet">
          Nodes get network coordinates once enough pairs are measured, usually within a minute;{" "}
          {view.nodes.length} nodes wait for theirs.
        </Empty>
      </div>
    );
  const size = { width, height: Math.min(560, Math.max(300, Math.round(width * 0.7))) };
  const field = fieldOf(places, size);
  const names = shortNames(
    places.map(({ node }) => node.name),
    20,
  );
  const without = view.nodes.length - places.length;
  const bar = scaleBar((width - 2 * EDGE) / field.scale);
  const error = view.coordinates?.medianRelativeError ?? null;
  return (
    <div class="map" ref={holder}>
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
        viewBox={`0 0 ${size.width} ${size.height}`}
        role="img"
        aria-label={`Map of ${places.length} nodes by network coordinates`}
      >
        {places.map((place) => (
          <Dot
            key={place.node.name}
            place={place}
            field={field}
            colour={colours.get(zoneOf(place.node))!}
            isSmall={places.length > 200}
          />
        ))}
        {places.length > MAX_NAMES
          ? null
          : labelsOf(
              places.map(({ node, x, y }) => ({
                text: names.get(node.name)!,
                x: field.x(x),
                y: field.y(y),
              })),
              size,
            ).map(({ text, x, y, line }) => (
              <g key={text}>
                {line === null ? null : <path class="leader" d={line} />}
                <text class="label" x={x} y={y}>
                  {text}
                </text>
              </g>
            ))}
        <g transform={`translate(${EDGE} ${size.height - 14})`}>
          <path class="bar" d={`M 0 -5 V 0 H ${bar * field.scale} V -5`} />
          <text class="tick" x={bar * field.scale + 8} y={2}>
            {milliseconds(bar)}
          </text>
        </g>
      </svg>
      <Zones colours={colours} />
    </div>
  );
}

function Zones({ colours }: { readonly colours: ReadonlyMap<string, string> }): VNode {
  return (
    <ul class="keys" aria-label="Zones">
      {[...colours].map(([zone, colour]) => (
        <li key={zone}>
          <i style={{ backgroundColor: colour }} /> <Name>{zone}</Name>
        </li>
      ))}
    </ul>
  );
}

/** A node, with a ring for what every way to it costs. */
function Dot(props: {
  readonly place: Place;
  readonly field: Field;
  readonly colour: string;
  readonly isSmall: boolean;
}): VNode {
  const { field, colour } = props;
  const { node, x, y, heightMs } = props.place;
  return (
    <g transform={`translate(${field.x(x).toFixed(1)} ${field.y(y).toFixed(1)})`}>
      <title>{`${node.name}, ${node.region ?? "no region"} / ${zoneOf(node)}: height ${milliseconds(heightMs)}`}</title>
      <circle class="height" r={Math.min(60, 6 + Math.max(0, heightMs) * field.scale)} fill={colour} />
      <circle class="node" r={props.isSmall ? 4 : 6} fill={colour} />
    </g>
  );
}

interface Size {
  readonly width: number;
  readonly height: number;
}

interface Field {
  readonly scale: number;
  x(ms: number): number;
  y(ms: number): number;
}

/** One scale for both directions: a map that is stretched would lie. */
function fieldOf(places: readonly Place[], { width, height }: Size): Field {
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
