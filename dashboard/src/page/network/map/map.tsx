import { naturally } from "@isochrone/primitives";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
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
import { latencyBetween } from "../../model/link-latency.ts";
import { CoordinateMap, fieldOf, spotsOf, type Size } from "./coordinate-map.tsx";
import { isochronesOf, type Isochrones } from "./isochrone-layout.ts";
import { IsochroneMap, isochroneSpots, wayInWords } from "./isochrone-map.tsx";
import { mapOf, type Place } from "./map-layout.ts";
import { podCounts, podsOf } from "./map-pods.ts";
import { PodLayer, Traffic, type Spot } from "./pod-layer.tsx";
import { PodList } from "./pod-list.tsx";
import { reachOf, ringsThatFit } from "./pod-rings.ts";
import { PredictionBars } from "./prediction-bars.tsx";
import { marksFor, type Marks } from "./workload-colours.ts";
import { ZoneMap, zonesOf } from "./zone-map.tsx";
import { predict, withMove } from "./what-if.ts";

const USUAL_WIDTH = 640;
const MOST_NODES = 200;

/** Width from which the pod list is beside the drawing, pixels. */
const WIDE = 820;
const SHARE_BESIDE_LIST = 0.56;
const ALL_NODES = "nodes";
const ALL_ZONES = "zones";

export function NetworkMap({ from }: { readonly from: string | null }): VNode {
  const view = cluster.value!;
  const { place: holder, width } = useWidth<HTMLDivElement>(USUAL_WIDTH);
  const all = useMemo(() => mapOf(view.nodes), [view]);
  const isochrones = useMemo(() => (from === null ? null : isochronesOf(view, from)), [view, from]);
  const [chosen, setPart] = useState<string | null>(null);
  const zones = useMemo(() => zonesOf(all), [all]);
  const part = chosen ?? (all.length > MOST_NODES ? ALL_ZONES : ALL_NODES);
  const zone = zones.find(({ title }) => title === part);
  const places = zone?.places ?? all;
  return (
    <div class={`map ${width >= WIDE ? "wide" : ""}`} ref={holder}>
      <div class="controls">
        <From view={view} from={from} />
        {from !== null || zones.length < 2 ? null : (
          <Part titles={zones.map(({ title }) => title)} part={part} onChoose={setPart} />
        )}
      </div>
      {from !== null && isochrones === null ? (
        <Empty title={`${from} is not in the cluster`}>
          The node may have been removed, or the address of this page is wrong.
        </Empty>
      ) : isochrones === null && all.length === 0 ? (
        <Empty title="No coordinates yet">
          Nodes get network coordinates once enough pairs are measured, usually within a minute;{" "}
          {view.nodes.length} nodes wait for theirs.
        </Empty>
      ) : from === null && part === ALL_ZONES ? (
        <Zoned view={view} places={all} width={width} onOpen={setPart} />
      ) : (
        <Drawing view={view} places={places} from={from} isochrones={isochrones} width={width} />
      )}
    </div>
  );
}

const sizeFor = (width: number): Size => ({
  width,
  height: Math.min(640, Math.max(320, Math.round(width * 0.78))),
});

function Zoned(props: {
  readonly view: ClusterView;
  readonly places: readonly Place[];
  readonly width: number;
  readonly onOpen: (zone: string) => void;
}): VNode {
  const { view, places, width, onOpen } = props;
  const zones = useMemo(() => zonesOf(places), [places]);
  const colours = zoneColours(view.nodes.map(zoneOf), theme.value);
  return (
    <>
      <p class="soft">
        Zones at the mean of their nodes' coordinates: distance is round-trip time, as far as two dimensions
        can show it. The larger the disc, the more nodes. Choose a zone to see its nodes and their pods.
      </p>
      <ZoneMap zones={zones} size={sizeFor(width)} colours={colours} onOpen={onOpen} />
    </>
  );
}

function Part(props: {
  readonly titles: readonly string[];
  readonly part: string;
  readonly onChoose: (part: string) => void;
}): VNode {
  return (
    <label>
      Show
      <select
        id="map-part"
        value={props.part}
        onChange={({ currentTarget }) => props.onChoose(currentTarget.value)}
      >
        <option value={ALL_NODES}>all nodes</option>
        <option value={ALL_ZONES}>zones</option>
        {props.titles.map((title) => (
          <option key={title}>{title}</option>
        ))}
      </select>
    </label>
  );
}

function From({ view, from }: { readonly view: ClusterView; readonly from: string | null }): VNode | null {
  if (view.nodes.length === 0) return null;
  return (
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
  );
}

interface DrawingProps {
  readonly view: ClusterView;
  readonly places: readonly Place[];
  readonly from: string | null;
  readonly isochrones: Isochrones | null;
  readonly width: number;
}

function Drawing({ view, places, from, isochrones, width }: DrawingProps): VNode {
  const colours = zoneColours(view.nodes.map(zoneOf), theme.value);
  const shown = from !== null && isochrones !== null ? view.nodes.length : places.length;
  const workflow = useLargestWorkflow(shown <= MOST_NODES);
  const isBeside = width >= WIDE && workflow !== null;
  const size = sizeFor(isBeside ? Math.floor(width * SHARE_BESIDE_LIST) : width);
  const isRings = from !== null && isochrones !== null;
  const { reach, mostRings } = roomForPods(workflow, size);
  const spots = isRings
    ? isochroneSpots(from, isochrones, size, reach)
    : spotsOf(places, fieldOf(places, size), size, reach);
  const scene = useScene(view, workflow, spots, mostRings);
  const fromNode = view.nodes.find(({ name }) => name === from);
  return (
    <>
      <Caption view={view} places={places} isochrones={isochrones} hasPods={workflow !== null} />
      <div class={isBeside ? "map-beside" : ""}>
        <div>
          {isRings ? (
            <IsochroneMap
              from={from}
              isochrones={isochrones}
              spots={spots}
              size={size}
              colours={colours}
              fromColour={colours.get(zoneOf(fromNode!))!}
              under={scene.traffic}
              over={scene.pods}
            />
          ) : (
            <CoordinateMap
              places={places}
              spots={spots}
              size={size}
              colours={colours}
              under={scene.traffic}
              over={scene.pods}
            />
          )}
          <Zones colours={colours} />
          {scene.bars}
        </div>
        <div class="map-list">{scene.list}</div>
      </div>
      {isRings ? <Ways from={from} isochrones={isochrones} workflow={workflow} /> : null}
    </>
  );
}

function roomForPods(workflow: WorkflowGraphSnapshot | null, size: Size) {
  const counts = podCounts(workflow === null ? [] : podsOf(workflow));
  const mostRings = ringsThatFit([...counts.values()], size);
  return { mostRings, reach: (node: string): number => reachOf(counts.get(node) ?? 0, mostRings) };
}

function useLargestWorkflow(isSmall: boolean): WorkflowGraphSnapshot | null {
  const chosen = largestWorkflow(workflows.value?.workflows ?? []);
  return useJson<WorkflowGraphSnapshot>(chosen === null || !isSmall ? null : workflowPath(chosen)).data;
}

const NO_SCENE = { traffic: null, pods: null, bars: null, list: null } as const;

function useScene(
  view: ClusterView,
  workflow: WorkflowGraphSnapshot | null,
  spots: readonly Spot[],
  mostRings: number,
) {
  const isMeasured = hasEmulator && moment.value === "";
  const timeline = useJson<LabTimeline>(isMeasured ? "lab/v1/timeline" : null, { isOfNow: true }).data;
  const [moves, setMoves] = useState<readonly PodMove[]>([]);
  const [hover, setHover] = useState<PodMove | null>(null);
  const costs = useMemo(() => costBetween(view), [view]);
  const latency = useMemo(() => latencyBetween(view), [view]);
  const names = spots.map(({ name }) => name).join("\n");
  const nodes = useMemo(() => names.split("\n").toSorted(naturally), [names]);
  const marks = useRef<Marks>(new Map());
  if (workflow === null) return NO_SCENE;
  marks.current = marksFor(
    podsOf(workflow).map(({ workload }) => workload),
    marks.current,
  );
  const shown = hover === null ? moves : withMove(workflow, moves, hover);
  const measured = timeline?.points.at(-1) ?? null;
  const add = (move: PodMove): void => setMoves(withMove(workflow, moves, move));
  const prediction = predict(workflow, shown, { costBetween: costs, latencyBetween: latency, measured });
  return {
    traffic: <Traffic spots={spots} workflow={workflow} moves={shown} costs={costs} />,
    pods: (
      <PodLayer
        spots={spots}
        workflow={workflow}
        moves={moves}
        marks={marks.current}
        mostRings={mostRings}
        onHover={setHover}
        onDrop={add}
      />
    ),
    bars: <PredictionBars prediction={prediction} moves={shown.length} onReset={() => setMoves([])} />,
    list: <PodList workflow={workflow} nodes={nodes} moves={moves} marks={marks.current} onMove={add} />,
  };
}

function Caption(props: {
  readonly view: ClusterView;
  readonly places: readonly Place[];
  readonly isochrones: Isochrones | null;
  readonly hasPods: boolean;
}): VNode {
  const { view, places, isochrones, hasPods } = props;
  const pods = hasPods
    ? " Small marks around a node are its pods, coloured by workload; lines are their traffic, in the colour of the round trip."
    : "";
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
      what every way to it costs in addition; nodes that would cover each other are moved apart. Choose a node
      to see the others from there.
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
