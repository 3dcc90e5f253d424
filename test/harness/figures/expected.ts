import {
  LATENCY_BOUNDS,
  NAMESPACE,
  OTHER_CLUSTER,
  type ChannelDraw,
  type ChannelSource,
  type Draw,
  type NodeDraw,
} from "./draw.ts";
import { podsOf } from "./pages.ts";
import { coresOf, memoryOf, nodeUse } from "./usage-sources.ts";

/** Null: must be published as unknown, because no source reports it. */
export type Figures = Map<string, number | string | null>;

/** Priority order of docs/traffic-sources.md, by the graphs' source names. */
const BYTES: readonly ChannelSource[] = [
  "waypoint",
  "istio",
  "ztunnel",
  "linkerd",
  "coroot",
  "obi",
  "netobserv",
  "retina",
];
const REQUESTS: readonly ChannelSource[] = [
  "waypoint",
  "istio",
  "istio_without_sizes",
  "linkerd",
  "service_graph",
  "hubble",
];
/** Count responses as a separate channel, unless a better source counts both. */
const ONE_WAY: readonly ChannelSource[] = ["netobserv", "retina"];

export function expectedFigures(draw: Draw): Figures {
  return new Map([
    ...draw.channels.flatMap((channel) => channelFigures(channel)),
    ...[...new Set(draw.pods.map(({ workload }) => workload))].flatMap((workload) =>
      workloadFigures(draw, workload),
    ),
    ...draw.nodes.flatMap((node) => nodeFigures(draw, node)),
    ...draw.outsideCalls.flatMap((call) => outsideFigures(call)),
    ...demandFigures(draw),
  ]);
}

function reporterName(source: ChannelSource, { ends }: ChannelDraw): string {
  switch (source) {
    case "istio":
    case "istio_without_sizes":
      return ends === "target" ? "destination" : "source";
    case "ztunnel":
      return "source";
    case "netobserv":
      return ends === "target" ? "netobserv_receiver" : "netobserv_sender";
    case "obi":
    case "retina":
      return `${source}_sender`;
    case "hubble":
      return "hubble_server";
    default:
      return source;
  }
}

type Entries = [string, number | string | null][];

function channelFigures(channel: ChannelDraw): Entries {
  const { source, target, sources, requestsPerSecond, failedShare, requestBytes, responseBytes } = channel;
  const bytesBy = BYTES.find((name) => sources.includes(name)) ?? null;
  const requestsBy = REQUESTS.find((name) => sources.includes(name)) ?? null;
  const isOneWay = bytesBy !== null && ONE_WAY.includes(bytesBy);
  const bytes = requestsPerSecond * (requestBytes + (isOneWay ? 0 : responseBytes));
  const figures = (from: string, to: string, values: Record<string, number | string | null>): Entries =>
    Object.entries(values).map(([name, value]) => [`channel ${from} -> ${to} ${name}`, value]);
  const named = (name: ChannelSource | null): string | null =>
    name === null ? null : reporterName(name, channel);
  const own = figures(source, target, {
    bytesPerSecond: bytesBy === null ? null : bytes,
    requestsPerSecond: requestsBy === null ? null : requestsPerSecond,
    errorRatio: requestsBy === null ? null : failedShare,
    countedBy: named(bytesBy ?? requestsBy),
    requestsCountedBy: named(requestsBy ?? bytesBy),
  });
  if (!isOneWay) return own;
  return [
    ...own,
    ...figures(target, source, {
      bytesPerSecond: requestsPerSecond * responseBytes,
      requestsPerSecond: null,
      errorRatio: null,
      countedBy: named(bytesBy),
      requestsCountedBy: named(bytesBy),
    }),
  ];
}

/** Each direction separately, from the workload's view. */
function outsideFigures({ call, farEnd, direction }: Draw["outsideCalls"][number]): Entries {
  const isOut = direction === "out";
  const { source, target, requestsPerSecond, requestBytes, responseBytes } = call;
  const [sent, received] = isOut ? [requestBytes, responseBytes] : [responseBytes, requestBytes];
  const subject = `outside ${isOut ? source : target} ${farEnd === "unknown" ? farEnd : OTHER_CLUSTER}`;
  return [
    [`${subject} sentBytesPerSecond`, requestsPerSecond * sent],
    [`${subject} receivedBytesPerSecond`, requestsPerSecond * received],
    [`${subject} sentRequestsPerSecond`, isOut ? requestsPerSecond : 0],
    [`${subject} receivedRequestsPerSecond`, isOut ? 0 : requestsPerSecond],
  ];
}

const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

function workloadFigures(draw: Draw, workload: string): Entries {
  const told = podsOf(draw, workload).filter(({ node }) => node.usage !== "node_exporter");
  const cores = mean(told.map(coresOf));
  return [
    [`workload ${workload} cpuMillicores`, cores === null ? null : cores * 1000],
    [`workload ${workload} memoryBytes`, mean(told.map(memoryOf))],
  ];
}

function nodeFigures(draw: Draw, node: NodeDraw): Entries {
  const { cores, memoryBytes } = nodeUse(draw, node);
  const hasNetwork = node.usage !== "resource" && node.usage !== "node_exporter";
  return [
    [`node ${node.name} usedCpuMillicores`, cores * 1000],
    [`node ${node.name} usedMemoryBytes`, memoryBytes],
    [`node ${node.name} networkReceiveBitsPerSecond`, hasNetwork ? node.receiveBytesPerSecond * 8 : null],
    [`node ${node.name} networkTransmitBitsPerSecond`, hasNetwork ? node.transmitBytesPerSecond * 8 : null],
  ];
}

/** Demand of zones for a Service, from callers' sidecars on pages that collectors read. */
function demandFigures(draw: Draw): Entries {
  const asked = new Map<string, { rate: number; failed: number; answers: number[] }>();
  for (const channel of draw.channels) {
    const { sources, ends, requestsPerSecond, failedShare, latencyShares } = channel;
    const isTold =
      sources.some((name) => name === "istio" || name === "istio_without_sizes") && ends !== "target";
    const callers = podsOf(draw, channel.source);
    for (const { node } of isTold ? callers.filter(({ node: { reader } }) => reader === "collector") : []) {
      const key = `demand ${NAMESPACE}/${channel.target} ${node.zone}`;
      const sum = asked.get(key) ?? { rate: 0, failed: 0, answers: LATENCY_BOUNDS.map(() => 0) };
      const rate = requestsPerSecond / callers.length;
      asked.set(key, {
        rate: sum.rate + rate,
        failed: sum.failed + rate * failedShare,
        answers: sum.answers.map((before, at) => before + rate * (1 - failedShare) * latencyShares[at]!),
      });
    }
  }
  return [...asked].flatMap(([key, { rate, failed, answers }]): Entries => [
    [`${key} requestsPerSecond`, rate],
    [`${key} errorRatio`, failed / rate],
    [`${key} p50`, latencyMs(answers, 0.5)],
    [`${key} p90`, latencyMs(answers, 0.9)],
  ]);
}

/** Milliseconds. Responses are uniform within a bucket. */
function latencyMs(answers: readonly number[], share: number): number {
  let left = share * answers.reduce((sum, count) => sum + count, 0);
  let lowMs = 0;
  for (const [at, highMs] of LATENCY_BOUNDS.entries()) {
    const count = answers[at]!;
    if (left <= count) return lowMs + ((highMs - lowMs) * left) / count;
    left -= count;
    lowMs = highMs;
  }
  return lowMs;
}
