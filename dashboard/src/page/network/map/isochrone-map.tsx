import type { ComponentChildren, VNode } from "preact";
import { zoneOf } from "../../model/cluster-view.ts";
import { milliseconds } from "../../model/format.ts";
import { shortNames } from "../../model/names.ts";
import { linkTo } from "../../state/store.ts";
import type { Isochrones, Neighbour } from "./isochrone-layout.ts";
import { labelsOf } from "./map-labels.ts";
import type { Spot } from "./pod-layer.tsx";

/** More names than this cover each other. */
const MAX_NAMES = 40;
const EDGE = 30;
/** Nodes without an answer stand this far outside of the outermost ring. */
const OUTSIDE = 1.12;

interface Size {
  readonly width: number;
  readonly height: number;
}

const radiusOf = ({ width, height }: Size): number =>
  Math.max(60, (Math.min(width, height) / 2 - EDGE) / OUTSIDE);

/** Where the nodes are drawn, the one that is looked from first. */
export function isochroneSpots(from: string, { neighbours }: Isochrones, size: Size): Spot[] {
  const radius = radiusOf(size);
  const [x, y] = [size.width / 2, size.height / 2];
  return [
    { name: from, x, y },
    ...neighbours.map(({ node, angle, share }) => ({
      name: node.name,
      x: x + Math.cos(angle) * share * radius,
      y: y + Math.sin(angle) * share * radius,
    })),
  ];
}

/** The network as one node sees it: rings of equal round-trip time around it. */
export function IsochroneMap(props: {
  readonly from: string;
  readonly isochrones: Isochrones;
  readonly size: Size;
  readonly colours: ReadonlyMap<string, string>;
  readonly fromColour: string;
  /** Drawn before the nodes, and after them. */
  readonly under: ComponentChildren;
  readonly over: ComponentChildren;
}): VNode {
  const { from, isochrones, size, colours, fromColour } = props;
  const radius = radiusOf(size);
  const spots = isochroneSpots(from, isochrones, size);
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
      <circle class="node from" cx={middle!.x} cy={middle!.y} r={9} fill={fromColour}>
        <title>{from}</title>
      </circle>
      {rings.map(({ ms, share }) => (
        <text
          key={ms}
          class="tick ring-name"
          x={middle!.x}
          y={middle!.y - share * radius - 3}
          text-anchor="middle"
        >
          {milliseconds(ms)}
        </text>
      ))}
      {props.over}
      <NodeNames spots={spots} size={size} />
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

export function NodeNames(props: { readonly spots: readonly Spot[]; readonly size: Size }): VNode | null {
  const { spots, size } = props;
  if (spots.length > MAX_NAMES) return null;
  const names = shortNames(
    spots.map(({ name }) => name),
    20,
  );
  const dots = spots.map(({ name, x, y }) => ({ text: names.get(name)!, x, y }));
  return (
    <g class="names">
      {labelsOf(dots, size).map(({ text, x, y, line }) => (
        <g key={text}>
          {line === null ? null : <path class="leader" d={line} />}
          <text class="label" x={x} y={y}>
            {text}
          </text>
        </g>
      ))}
    </g>
  );
}
