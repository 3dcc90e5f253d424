import type { ComponentChildren, VNode } from "preact";
import { zoneOf } from "../../model/cluster-view.ts";
import { milliseconds } from "../../model/format.ts";
import { linkTo } from "../../state/store.ts";
import { OUTSIDE, type Isochrones, type Neighbour } from "./isochrone-layout.ts";
import { boxAround, LINE } from "./map-labels.ts";
import { MapNames } from "./map-names.tsx";
import type { Spot } from "./pod-layer.tsx";
import { around, spread } from "./spread.ts";

const EDGE = 30;
const MOST_APART = 250;

interface Size {
  readonly width: number;
  readonly height: number;
}

const outerRadius = ({ width, height }: Size): number =>
  Math.max(60, (Math.min(width, height) / 2 - EDGE) / OUTSIDE);

export function isochroneSpots(
  from: string,
  { neighbours }: Isochrones,
  size: Size,
  radiusOf: (node: string) => number,
): Spot[] {
  const radius = outerRadius(size);
  const [x, y] = [size.width / 2, size.height / 2];
  const spots = [
    { name: from, x, y, radius: radiusOf(from) },
    ...neighbours.map(({ node, angle, share }) => ({
      name: node.name,
      x: x + Math.cos(angle) * share * radius,
      y: y + Math.sin(angle) * share * radius,
      radius: radiusOf(node.name),
    })),
  ];
  return spots.length > MOST_APART ? spots : spread(spots, around({ x, y }));
}

function ringNames({ rings }: Isochrones, size: Size) {
  const radius = outerRadius(size);
  let above = Number.NEGATIVE_INFINITY;
  return rings.toReversed().flatMap(({ ms, share }) => {
    const y = size.height / 2 - share * radius - 3;
    if (y - above < LINE + 2) return [];
    above = y;
    return [{ ms, x: size.width / 2, y }];
  });
}

export function IsochroneMap(props: {
  readonly from: string;
  readonly isochrones: Isochrones;
  readonly spots: readonly Spot[];
  readonly size: Size;
  readonly colours: ReadonlyMap<string, string>;
  readonly fromColour: string;
  readonly under: ComponentChildren;
  readonly over: ComponentChildren;
}): VNode {
  const { from, isochrones, spots, size, colours, fromColour } = props;
  const radius = outerRadius(size);
  const names = ringNames(isochrones, size);
  const [middle, ...others] = spots;
  const { rings, neighbours } = isochrones;
  return (
    <svg
      id="map"
      viewBox={`0 0 ${size.width} ${size.height}`}
      role="group"
      aria-label={`Round-trip times from ${from} to ${neighbours.length} nodes; the table below says the same`}
    >
      {rings.toReversed().map(({ ms, share }) => (
        <circle key={ms} class="ring" data-ms={ms} cx={middle!.x} cy={middle!.y} r={share * radius} />
      ))}
      {props.under}
      {neighbours.map((neighbour, index) => (
        <Around
          key={neighbour.node.name}
          neighbour={neighbour}
          spot={others[index]!}
          colour={colours.get(zoneOf(neighbour.node))!}
          isSmall={neighbours.length > 200}
        />
      ))}
      <circle class="node from" data-node={from} cx={middle!.x} cy={middle!.y} r={9} fill={fromColour}>
        <title>{from}</title>
      </circle>
      {names.map(({ ms, x, y }) => (
        <text key={ms} class="tick ring-name" x={x} y={y} text-anchor="middle">
          {milliseconds(ms)}
        </text>
      ))}
      {props.over}
      <MapNames
        spots={spots}
        size={size}
        reserved={names.map(({ x, y }) => boxAround(x - 32, y - 11, 64, LINE))}
      />
    </svg>
  );
}

function Around(props: {
  readonly neighbour: Neighbour;
  readonly spot: Spot;
  readonly colour: string;
  readonly isSmall: boolean;
}): VNode {
  const { neighbour, spot, colour, isSmall } = props;
  const { node, ms, isEstimated } = neighbour;
  const words = wayInWords(neighbour);
  const kind = ms === Number.POSITIVE_INFINITY ? "dead" : isEstimated ? "estimated" : "";
  return (
    <a
      href={linkTo({ page: "network", view: "map", from: node.name })}
      data-node={node.name}
      aria-label={`${node.name}: ${words}. Look from there`}
    >
      <title>{`${node.name}, ${zoneOf(node)}: ${words}. Look from there`}</title>
      <circle class={`node ${kind}`} cx={spot.x} cy={spot.y} r={isSmall ? 4 : 6.5} fill={colour} />
    </a>
  );
}

export function wayInWords({ ms, isEstimated }: Pick<Neighbour, "ms" | "isEstimated">): string {
  if (ms === Number.POSITIVE_INFINITY) return "no answer";
  if (Number.isNaN(ms)) return "not known";
  return isEstimated ? `${milliseconds(ms)}, estimated` : milliseconds(ms);
}
