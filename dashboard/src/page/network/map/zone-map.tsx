import type { VNode } from "preact";
import { NO_REGION } from "@isochrone/primitives";
import { zoneOf } from "../../model/cluster-view.ts";
import { count } from "../../model/format.ts";
import { fieldOf, type Size } from "./coordinate-map.tsx";
import { MapNames } from "./map-names.tsx";
import type { Place } from "./map-layout.ts";
import { spread, within } from "./spread.ts";

interface ZonePlaces {
  readonly zone: string;
  readonly title: string;
  readonly places: readonly Place[];
}

export function zonesOf(places: readonly Place[]): ZonePlaces[] {
  const groups = Map.groupBy(places, ({ node }) => `${node.region ?? NO_REGION} / ${zoneOf(node)}`);
  const zones = [...groups].map(([title, own]) => ({ zone: zoneOf(own[0]!.node), title, places: own }));
  const uses = Map.groupBy(zones, ({ zone }) => zone);
  return zones
    .map((each) => ({ ...each, title: uses.get(each.zone)!.length === 1 ? each.zone : each.title }))
    .sort((a, b) => a.title.localeCompare(b.title, "en", { numeric: true }));
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Zones at the mean of their nodes, sized by node count; selecting one shows its nodes. */
export function ZoneMap(props: {
  readonly zones: readonly ZonePlaces[];
  readonly size: Size;
  readonly colours: ReadonlyMap<string, string>;
  readonly onOpen: (title: string) => void;
}): VNode {
  const { zones, size, colours, onOpen } = props;
  const centres = zones.map(({ places }) => ({
    ...places[0]!,
    x: mean(places.map(({ x }) => x)),
    y: mean(places.map(({ y }) => y)),
  }));
  const field = fieldOf(centres, size);
  const most = Math.max(...zones.map(({ places }) => places.length));
  const largest = Math.min(34, Math.sqrt((0.2 * size.width * size.height) / zones.length / Math.PI));
  const spots = spread(
    zones.map(({ title, places }, index) => ({
      name: title,
      x: field.x(centres[index]!.x),
      y: field.y(centres[index]!.y),
      radius: Math.max(5, largest * Math.sqrt(places.length / most)),
    })),
    within(size, 20),
  );
  return (
    <svg
      id="map"
      viewBox={`0 0 ${size.width} ${size.height}`}
      role="group"
      aria-label={`Map of ${zones.length} zones by network coordinates`}
    >
      {spots.map(({ name, x, y, radius }, index) => (
        <a
          key={name}
          href="#"
          role="button"
          data-node={name}
          aria-label={`Show the ${count(zones[index]!.places.length)} nodes of ${name}`}
          onClick={(event) => {
            event.preventDefault();
            onOpen(name);
          }}
        >
          <title>{`${name}: ${count(zones[index]!.places.length)} nodes. Show them`}</title>
          <circle class="node zone" cx={x} cy={y} r={radius} fill={colours.get(zones[index]!.zone)} />
          {radius < 14 ? null : (
            <text class="zone-count" x={x} y={y + 4} text-anchor="middle">
              {count(zones[index]!.places.length)}
            </text>
          )}
        </a>
      ))}
      <MapNames spots={spots} size={size} />
    </svg>
  );
}
