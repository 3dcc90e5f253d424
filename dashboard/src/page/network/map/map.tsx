import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { hasEmulator } from "../../state/emulator.ts";
import { costBetween, zoneOf, type ClusterView } from "../../model/cluster-view.ts";
import { plural } from "../../model/format.ts";
import { largestWorkflow, workflowPath } from "../../model/largest.ts";
import type { PodMove } from "../../model/request-time.ts";
import { zoneColours } from "../../model/scale.ts";
import type { LabTimeline } from "../../overview/latency.tsx";
import { useJson } from "../../parts/ask.ts";
import { Empty, Name, Table } from "../../parts/common.tsx";
import { useWidth } from "../../parts/width.ts";
import { cluster, goTo, linkTo, moment, theme, workflows } from "../../state/store.ts";
import { CoordinateMap, fieldOf, spotsOf, type Size } from "./coordinate-map.tsx";
import { isochronesOf, type Isochrones } from "./isochrone-layout.ts";
import { IsochroneMap, isochroneSpots, wayInWords } from "./isochrone-map.tsx";
import { mapOf, type Place } from "./map-layout.ts";
import { PodLayer, Traffic, type Spot } from "./pod-layer.tsx";
import { WhatIfPanel } from "./what-if-panel.tsx";
import { predict, withMove } from "./what-if.ts";

const USUAL_WIDTH = 640;
/** Pods can't be seen on more nodes than this. */
const MOST_NODES = 200;

/** The nodes where the network puts them, or as one of them sees the others; with the pods of a workflow. */
export function NetworkMap({ from }: { readonly from: string | null }): VNode {
  const view = cluster.value!;
  const { place: holder, width } = useWidth<HTMLDivElement>(USUAL_WIDTH);
  const places = useMemo(() => mapOf(view.nodes), [view]);
  const isochrones = useMemo(() => (from === null ? null : isochronesOf(view, from)), [view, from]);
  const size = { width, height: Math.min(600, Math.max(320, Math.round(width * 0.75))) };
  return (
    <div class="map" ref={holder}>
      <From view={view} from={from} />
      {from !== null && isochrones === null ? (
        <Empty title={`${from} is not in the cluster`}>
          The node may have been removed, or the address of this page is wrong.
        </Empty>
      ) : isochrones === null && places.length === 0 ? (
        <Empty title="No coordinates yet">
          Nodes get network coordinates once enough pairs are measured, usually within a minute;{" "}
          {view.nodes.length} nodes wait for theirs.
        </Empty>
      ) : (
        <Drawing view={view} places={places} from={from} isochrones={isochrones} size={size} />
      )}
    </div>
  );
}

function From({ view, from }: { readonly view: ClusterView; readonly from: string | null }): VNode | null {
  if (view.nodes.length === 0) return null;
  return (
    <div class="controls">
      <label>
        Look from
        <select
          id="look-from"
          value={from ?? ""}
          onChange={({ currentTarget: { value } }) =>
            goTo({ page: "network", view: "map", ...(value === "" ? {} : { from: value }) })
          }
        >
          <option value="">nowhere: the whole map</option>
          {view.nodes.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

interface DrawingProps {
  readonly view: ClusterView;
  readonly places: readonly Place[];
  readonly from: string | null;
  readonly isochrones: Isochrones | null;
  readonly size: Size;
}

function Drawing({ view, places, from, isochrones, size }: DrawingProps): VNode {
  const colours = zoneColours(view.nodes.map(zoneOf), theme.value);
  const isRings = from !== null && isochrones !== null;
  const spots = isRings ? isochroneSpots(from, isochrones, size) : spotsOf(places, fieldOf(places, size));
  const scene = useScene(view, spots);
  const fromNode = view.nodes.find(({ name }) => name === from);
  return (
    <>
      <Caption view={view} places={places} isochrones={isochrones} hasPods={scene !== null} />
      {isRings ? (
        <IsochroneMap
          from={from}
          isochrones={isochrones}
          size={size}
          colours={colours}
          fromColour={colours.get(zoneOf(fromNode!))!}
          under={scene?.traffic}
          over={scene?.pods}
        />
      ) : (
        <CoordinateMap
          places={places}
          size={size}
          colours={colours}
          under={scene?.traffic}
          over={scene?.pods}
        />
      )}
      <Zones colours={colours} />
      {scene?.panel}
      {isRings ? <Ways from={from} isochrones={isochrones} workflow={scene?.workflow ?? null} /> : null}
    </>
  );
}

/**
 * The pods of the largest workflow on the map, and what would be if they were elsewhere; null: there are
 * none, or too many nodes.
 */
function useScene(view: ClusterView, spots: readonly Spot[]) {
  const chosen = largestWorkflow(workflows.value?.workflows ?? []);
  const isSmall = view.nodes.length <= MOST_NODES;
  const workflow = useJson<WorkflowGraphSnapshot>(
    chosen === null || !isSmall ? null : workflowPath(chosen),
  ).data;
  const isMeasured = hasEmulator && moment.value === "";
  const timeline = useJson<LabTimeline>(isMeasured ? "lab/v1/timeline" : null, { isOfNow: true }).data;
  const [moves, setMoves] = useState<readonly PodMove[]>([]);
  const [hover, setHover] = useState<PodMove | null>(null);
  const costs = useMemo(() => costBetween(view), [view]);
  if (workflow === null) return null;
  const shown = hover === null ? moves : withMove(workflow, moves, hover);
  const p95Ms = timeline?.points.at(-1)?.p95Ms ?? null;
  const add = (move: PodMove): void => setMoves(withMove(workflow, moves, move));
  return {
    workflow,
    traffic: <Traffic spots={spots} workflow={workflow} moves={shown} costs={costs} />,
    pods: <PodLayer spots={spots} workflow={workflow} moves={moves} onHover={setHover} onDrop={add} />,
    panel: (
      <WhatIfPanel
        workflow={workflow}
        nodes={spots.map(({ name }) => name).toSorted()}
        moves={shown}
        prediction={predict(workflow, shown, costs, p95Ms)}
        onMove={add}
        onReset={() => setMoves([])}
      />
    ),
  };
}

function Caption(props: {
  readonly view: ClusterView;
  readonly places: readonly Place[];
  readonly isochrones: Isochrones | null;
  readonly hasPods: boolean;
}): VNode {
  const { view, places, isochrones, hasPods } = props;
  const pods = hasPods ? " Squares are pods; lines are their traffic, in the colour of the round trip." : "";
  if (isochrones !== null)
    return (
      <p class="soft">
        Distance from the middle is round-trip time, by its square root. Nodes outside of the rings don't
        answer, or nothing is known of them; a dashed edge is an estimate.{pods}
      </p>
    );
  const error = view.coordinates?.medianRelativeError ?? null;
  const without = view.nodes.length - places.length;
  return (
    <p class="soft">
      Distance on the map is round-trip time, as far as two dimensions can show it; the disc around a node is
      what every way to it costs in addition. Choose a node to see the others from there.
      {error === null
        ? ""
        : ` Half of the pairs are estimated within ${Math.round(error * 100)} % of what is measured.`}
      {without > 0 ? ` ${without} nodes have no coordinate.` : ""}
      {pods}
    </p>
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

const MOST_ROWS = 100;

/** The rings in words and figures. */
function Ways(props: {
  readonly from: string;
  readonly isochrones: Isochrones;
  readonly workflow: WorkflowGraphSnapshot | null;
}): VNode {
  const { from, isochrones, workflow } = props;
  const { rings, neighbours } = isochrones;
  const order = ({ ms }: { readonly ms: number }): number => (Number.isNaN(ms) ? Number.MAX_VALUE : ms);
  const sorted = neighbours.toSorted((a, b) => order(a) - order(b));
  const podsOn = (node: string): string =>
    (workflow?.workloads ?? [])
      .flatMap(({ name, pods }) => pods.filter((pod) => pod.node === node).map(() => name))
      .join(" ");
  return (
    <>
      <p class="soft" id="rings">
        {rings.map(({ ms, within }) => `within ${ms} ms: ${plural(within, "node")}`).join("; ")}
      </p>
      <Table
        id="ways"
        label={`round-trip times from ${from}`}
        columns={[{ title: "Node", isText: true }, { title: "Round trip" }, { title: "Pods", isText: true }]}
        rows={sorted.slice(0, MOST_ROWS).map((neighbour) => ({
          key: neighbour.node.name,
          class: neighbour.ms === Number.POSITIVE_INFINITY ? "bad" : "",
          cells: [
            <a href={linkTo({ page: "pair", source: from, target: neighbour.node.name })}>
              <Name>{neighbour.node.name}</Name>
            </a>,
            wayInWords(neighbour),
            podsOn(neighbour.node.name),
          ],
        }))}
      />
    </>
  );
}
