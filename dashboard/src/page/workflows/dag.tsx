import { NO_ZONE } from "@isochrone/primitives";
import type { Channel, WorkflowGraphSnapshot, Workload } from "@isochrone/topology";
import type { RefObject, VNode } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { zoneOf, type ClusterView } from "../model/cluster-view.ts";
import { bytesPerSecond, cpu, figure, memory, milliseconds } from "../model/format.ts";
import { shorten, shortNames } from "../model/names.ts";
import { colourOf, legendOf, zoneColours } from "../model/scale.ts";
import { Name } from "../parts/common.tsx";
import { theme } from "../state/store.ts";
import type { ChannelCost } from "../model/costs.ts";
import { BOX, LABEL, layoutOf, type PlacedLine } from "./dag-layout.ts";

const MAX_CHARACTERS = 20;
/** Larger graphs are unreadable and slow to lay out. */
export const MAX_WORKLOADS = 300;

interface DagProps {
  readonly workflow: WorkflowGraphSnapshot;
  readonly view: ClusterView;
  readonly costs: readonly ChannelCost[];
  readonly moved: ReadonlyMap<string, number>;
}

/**
 * Workloads as boxes outlined in zone colours; channels as lines with their ms: width by traffic, colour by
 * round trip.
 */
export function Dag({ workflow, view, costs, moved }: DagProps): VNode {
  const direction = innerWidth < 700 ? "TB" : "LR";
  // Laid out by names only: traffic changes every second, and boxes must not jump.
  const shape = `${direction}\n${workflow.workloads.map(({ name }) => name).join("\n")}\n\n${workflow.channels.map(({ source, target }) => `${source}\n${target}`).join("\n")}`;
  const drawing = useMemo(() => layoutOf(workflow, direction), [shape]);
  const frame = useBeginning(drawing, direction);
  const zones = new Map(view.nodes.map((node) => [node.name, zoneOf(node)]));
  const colours = zoneColours(view.nodes.map(zoneOf), theme.value);
  const names = useMemo(
    () =>
      shortNames(
        view.nodes.map(({ name }) => name),
        MAX_CHARACTERS,
      ),
    [view],
  );
  const byName = new Map(workflow.workloads.map((workload) => [workload.name, workload]));
  const now = new Map(costs.map((cost) => [`${cost.channel.source}\n${cost.channel.target}`, cost]));
  const busiest = Math.max(1, ...workflow.channels.map(({ bytesPerSecond: rate }) => rate ?? 0));
  const used = new Set(
    workflow.workloads.flatMap(({ pods }) => pods.map(({ node }) => zones.get(node ?? "") ?? NO_ZONE)),
  );
  return (
    <>
      <div
        ref={frame}
        class="scroll dag"
        id="dag"
        tabIndex={0}
        role="region"
        aria-label={`graph of ${workflow.name}`}
      >
        <svg
          width={drawing.width}
          height={drawing.height}
          viewBox={`0 0 ${drawing.width} ${drawing.height}`}
          role="img"
          aria-label={`${workflow.workloads.length} workloads and ${workflow.channels.length} channels; the tables below say the same`}
        >
          <Arrow />
          {drawing.lines.map((line, index) => (
            <ChannelLine
              key={index}
              line={line}
              cost={now.get(`${line.channel.source}\n${line.channel.target}`)}
              busiest={busiest}
            />
          ))}
          {drawing.lines.map((line, index) => (
            <LineLabel
              key={index}
              line={line}
              cost={now.get(`${line.channel.source}\n${line.channel.target}`)}
            />
          ))}
          {drawing.boxes.map(({ name, x, y }, index) => (
            <Box
              key={name}
              index={index}
              moved={moved.get(name) ?? 0}
              workload={byName.get(name)!}
              x={x}
              y={y}
              zones={zones}
              colours={colours}
              nodeNames={names}
            />
          ))}
        </svg>
      </div>
      <Keys colours={colours} used={used} hasMoved={moved.size > 0} />
    </>
  );
}

function Arrow(): VNode {
  return (
    <defs>
      <marker
        id="arrow"
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerWidth="7"
        markerHeight="7"
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path d="M 0 0 L 8 4 L 0 8 z" class="arrow" />
      </marker>
    </defs>
  );
}

/** Scrolls a wide drawing to the beginning of the calls. */
function useBeginning(
  { boxes }: ReturnType<typeof layoutOf>,
  direction: "TB" | "LR",
): RefObject<HTMLDivElement> {
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const [first] = [...boxes].sort((a, b) => (direction === "TB" ? a.y - b.y : a.x - b.x));
    if (frame.current !== null && first !== undefined)
      frame.current.scrollLeft = first.x - frame.current.clientWidth / 2;
  }, [boxes]);
  return frame as RefObject<HTMLDivElement>;
}

function Keys(props: {
  readonly colours: ReadonlyMap<string, string>;
  readonly used: ReadonlySet<string>;
  readonly hasMoved: boolean;
}): VNode {
  const steps = legendOf("ms", theme.value);
  return (
    <div class="legend" id="dag-legend">
      <div class="scale" role="img" aria-label="Colour of a line: round trip in ms, logarithmic">
        {steps.map(({ colour, from }) => (
          <span key={colour}>
            <i style={{ backgroundColor: colour }} />
            <small>{from ?? 0}</small>
          </span>
        ))}
        <small>ms on lines</small>
      </div>
      <ul class="keys" aria-label="Zones">
        {[...props.colours]
          .filter(([zone]) => props.used.has(zone))
          .map(([zone, colour]) => (
            <li key={zone}>
              <i class="outline" style={{ borderColor: outlineOf(colour) }} /> <Name>{zone}</Name>
            </li>
          ))}
        {props.hasMoved ? (
          <li>
            <i class="outline moved" /> would move
          </li>
        ) : null}
        <li class="soft">Outline: zone. Thicker line: more traffic. Framed in red: errors or no answer.</li>
      </ul>
    </div>
  );
}

/** Mixed with the text colour, since pale outlines are invisible. */
const outlineOf = (colour: string): string => `color-mix(in srgb, ${colour} 62%, var(--ink))`;

function ChannelLine(props: {
  readonly line: PlacedLine;
  readonly cost: ChannelCost | undefined;
  readonly busiest: number;
}): VNode {
  const { ms = Number.NaN, channel = props.line.channel } = props.cost ?? {};
  const rate = channel.bytesPerSecond ?? 0;
  const { isSilent, isBad } = conditionOf(channel, ms);
  const colour = Number.isFinite(ms) ? colourOf(ms, "ms", theme.value) : null;
  const width = 1.5 + 5 * Math.sqrt(rate / props.busiest);
  const words = `${channel.source} → ${channel.target}: ${figure(channel.requestsPerSecond)} requests/s, ${bytesPerSecond(channel.bytesPerSecond)}, ${ms === Number.POSITIVE_INFINITY ? "unreachable" : milliseconds(ms)}`;
  return (
    <g class={`channel ${isSilent ? "silent" : ""} ${isBad ? "bad" : ""}`}>
      <title>{words}</title>
      <path class="under" d={props.line.path} stroke-width={width + 2.5} />
      <path
        class="line"
        d={props.line.path}
        stroke-width={width}
        style={colour === null ? {} : { stroke: colour }}
        marker-end="url(#arrow)"
      />
      {isSilent ? null : <path class="flow" d={props.line.path} stroke-width={Math.max(1, width * 0.35)} />}
    </g>
  );
}

function LineLabel({
  line: { label, channel },
  cost,
}: {
  readonly line: PlacedLine;
  readonly cost: ChannelCost | undefined;
}): VNode {
  const ms = cost?.ms ?? Number.NaN;
  const { isBad } = conditionOf(cost?.channel ?? channel, ms);
  const { width, height } = LABEL;
  return (
    <g class={`ms ${isBad ? "bad" : ""}`} transform={`translate(${label.x} ${label.y})`}>
      <rect x={-width / 2} y={-height / 2} width={width} height={height} rx={5} />
      <text y={4}>{ms === Number.POSITIVE_INFINITY ? "silent" : milliseconds(ms)}</text>
    </g>
  );
}

function conditionOf(
  { bytesPerSecond: rate, requestsPerSecond, errorRatio }: Channel,
  ms: number,
): { readonly isSilent: boolean; readonly isBad: boolean } {
  return {
    isSilent: (rate ?? 0) === 0 && (requestsPerSecond ?? 0) === 0,
    isBad: (errorRatio ?? 0) > 0.01 || ms === Number.POSITIVE_INFINITY,
  };
}

interface BoxProps {
  readonly workload: Workload;
  readonly x: number;
  readonly y: number;
  readonly zones: ReadonlyMap<string, string>;
  readonly colours: ReadonlyMap<string, string>;
  readonly nodeNames: ReadonlyMap<string, string>;
  readonly index: number;
  readonly moved: number;
}

function Box({ workload, x, y, zones, colours, nodeNames, index, moved }: BoxProps): VNode {
  const { name, kind, pods, cpuMillicores, memoryBytes } = workload;
  const counts = new Map<string, number>();
  for (const { node } of pods) {
    const zone = zones.get(node ?? "") ?? NO_ZONE;
    counts.set(zone, (counts.get(zone) ?? 0) + 1);
  }
  const nodes = [...new Set(pods.map(({ node }) => node ?? "not placed"))];
  const [first = "no pod"] = nodes;
  const where =
    nodes.length > 1
      ? `${pods.length} pods on ${nodes.length} nodes`
      : shorten(nodeNames.get(first) ?? first, MAX_CHARACTERS);
  const stripes = stripesOf(counts, pods.length);
  const outline = `zones-${index}`;
  return (
    <g
      class={`workload ${moved > 0 ? "moved" : ""}`}
      transform={`translate(${x - BOX.width / 2} ${y - BOX.height / 2})`}
    >
      <title>{`${name} (${kind}): ${pods.map((pod) => `${pod.name} on ${pod.node ?? "no node"}`).join(", ")}${moved > 0 ? `; ${moved} would move` : ""}`}</title>
      <linearGradient id={outline}>
        {stripes.flatMap(({ zone, from, to }) =>
          [from, to].map((offset) => (
            <stop
              key={`${zone} ${offset}`}
              offset={offset}
              style={{ stopColor: outlineOf(colours.get(zone) ?? "var(--soft)") }}
            />
          )),
        )}
      </linearGradient>
      <rect
        class="back"
        width={BOX.width}
        height={BOX.height}
        rx={6}
        stroke={stripes.length === 0 ? "var(--line)" : `url(#${outline})`}
      />
      <text class="title" x={BOX.width / 2} y={19}>
        {shorten(name, MAX_CHARACTERS)}
      </text>
      <text x={BOX.width / 2} y={35}>
        {where}
      </text>
      <text class="small" x={BOX.width / 2} y={50}>
        {cpu(cpuMillicores).replace(/ m$/, " mCPU")} · {memory(memoryBytes)}
      </text>
    </g>
  );
}

function stripesOf(
  counts: ReadonlyMap<string, number>,
  pods: number,
): { readonly zone: string; readonly from: number; readonly to: number }[] {
  let to = 0;
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([zone, number]) => {
      const from = to;
      to += number / Math.max(pods, 1);
      return { zone, from, to };
    });
}
