import type { Candidate, Decision, Peer, Rtt } from "@isochrone/topology";
import { table } from "../output/table.ts";
import type { Cell } from "../output/table.ts";

/** Node columns in the table of peers: the pod's node, the best ones, and others. */
const MAX_NODES = 4;

export function decisionText(decision: Decision): string {
  const { pod, at, replica, strategy, mode, outcome, explanation, inputs, now } = decision;
  const reason = decision.binding?.reason ?? null;
  const blocks = [
    [
      headline(decision),
      ...(reason === null ? [] : [reason]),
      ...(outcome === undefined ? [] : [outcomeText(outcome)]),
    ],
    ...(now === undefined ? [] : [sinceThen(now.changes)]),
    [
      `Decided ${at} by ${strategy} (${mode})${replica === undefined ? "" : `, replica ${replica}`}`,
      `inputs: cluster graph ${version(inputs.clusterVersion, inputs.clusterAgeSeconds)}, workflow graph ${version(inputs.workflowVersion, inputs.workflowAgeSeconds)}`,
      ...explanation,
    ],
    peerTable(decision, `${pod.namespace}/${pod.name}`),
    [scoreTable(decision)],
    partTable(decision.candidates),
  ];
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

function headline({ pod, binding, best, kind }: Decision): string {
  const name = `${pod.namespace}/${pod.name}`;
  const choice = best === null ? "no node is feasible" : `the best node is ${best}`;
  const left = binding?.node ?? null;
  if (kind === "eviction") return `${name} is moved${left === null ? "" : ` from ${left}`}; ${choice}.`;
  if (binding === undefined) return `${name}: it isn't known where it runs; ${choice}.`;
  const { state, node, agreement } = binding;
  if (node === null)
    return `${name} ${state === "gone" ? "is gone and had no node" : "has no node yet"}; ${choice}.`;
  const runs = state === "gone" ? `${name} ran on ${node} and is gone` : `${name} runs on ${node}`;
  if (agreement === "as_chosen") return `${runs}, as chosen.`;
  if (agreement === "tie") return `${runs}, one of several best nodes.`;
  return best === null ? `${runs}.` : `${runs}; Isochrone would have chosen ${best}.`;
}

function sinceThen(changes: readonly string[]): string[] {
  if (changes.length === 0) return ["Asked again now: nothing that decides has changed."];
  return ["Asked again now:", ...changes.map((change) => `- ${change}`)];
}

function peerTable({ peers: stored, now, ...decision }: Decision, name: string): string[] {
  const peers = now !== undefined && now.peers.length > 0 ? now.peers : (stored ?? []);
  if (peers.length === 0) return [];
  const nodes = comparedNodes({ ...decision, ...(now === undefined ? {} : { now }) });
  const { node } = decision.binding ?? { node: null };
  return [
    `${name} talks to (round trip in ms ${peers === stored ? "then" : "now"}):`,
    table(
      [
        "  peer",
        "on",
        "requests/s",
        ...nodes.map((each) => (each === node ? `from ${each} (here)` : `from ${each}`)),
      ],
      peers.map((peer) => [
        `  ${peer.calling ? "calls" : "is called by"} ${peer.workload}${peer.pods > 1 ? ` x${peer.pods}` : ""}`,
        peer.node,
        peer.requestsPerSecond,
        ...nodes.map((each) => rttCell(peer, each)),
      ]),
    ),
  ];
}

function rttCell({ rttMs, errorMs = {} }: Peer, node: string): Cell {
  const rtt: Rtt = rttMs[node] ?? null;
  const error = errorMs[node];
  return typeof rtt === "number" && rtt > 0 && error !== undefined
    ? `${rtt.toFixed(1)} ±${error.toFixed(1)}`
    : rtt;
}

/** The pod's node, the best ones then and now, then the next best. */
function comparedNodes({ binding, best, now, candidates }: Decision): string[] {
  const ranked = [...(now?.candidates ?? candidates)].sort(byScore).map(({ name }) => name);
  const wanted = [binding?.node ?? null, best, now?.best ?? null, ...ranked];
  return [...new Set(wanted.filter((name) => name !== null))].slice(0, MAX_NODES);
}

function scoreTable({ candidates, now, best, binding }: Decision): string {
  const current = byName(now?.candidates ?? []);
  const stored = byName(candidates);
  const names = new Set([...candidates.toSorted(byScore).map(({ name }) => name), ...current.keys()]);
  const rows = [...names].map((name): Cell[] => {
    const [then, later] = [stored.get(name), current.get(name)];
    const pair = (figure: (candidate: Candidate) => number | null): Cell[] => {
      const of = (candidate: Candidate | undefined): number | null =>
        candidate === undefined ? null : figure(candidate);
      return now === undefined ? [of(then)] : [of(then), of(later)];
    };
    return [
      `${name === best ? "* " : "  "}${name}`,
      ...pair(({ networkMs }) => networkMs ?? null),
      ...pair(({ score }) => score),
      [...(name === binding?.node ? ["runs here"] : []), ...refusals(then, later)].join("; "),
    ];
  });
  const head =
    now === undefined
      ? ["  node", "ms/request", "score", ""]
      : ["  node", "ms/request then", "now", "score then", "now", ""];
  return table(head, rows);
}

function refusals(then: Candidate | undefined, later: Candidate | undefined): string[] {
  if (then?.feasible === false) return [then.reason ?? "not feasible"];
  return later?.feasible === false ? [`now: ${later.reason ?? "not feasible"}`] : [];
}

function byName(candidates: readonly Candidate[]): ReadonlyMap<string, Candidate> {
  return new Map(candidates.map((candidate) => [candidate.name, candidate]));
}

function partTable(candidates: readonly Candidate[]): string[] {
  const parts = [...new Set(candidates.flatMap((candidate) => Object.keys(candidate.parts)))];
  if (parts.length === 0) return [];
  const rows = [...candidates]
    .sort(byScore)
    .map(({ name, raw, parts: own }) => [`  ${name}`, raw, ...parts.map((part) => own[part] ?? null)]);
  return [
    "What the scores then were made of, in the strategy's own units:",
    table(["  node", "raw", ...parts], rows),
  ];
}

function byScore(a: Candidate, b: Candidate): number {
  return b.score - a.score;
}

function outcomeText({ at, result, node, reason }: NonNullable<Decision["outcome"]>): string {
  const where = node === null ? "" : ` on ${node}`;
  return `outcome: ${result.replaceAll("_", " ")}${where}, ${at}${reason === null ? "" : `; ${reason}`}`;
}

function version(number: number | null, ageSeconds: number | null): string {
  if (number === null) return "not available";
  return ageSeconds === null ? String(number) : `${number} (${ageSeconds.toFixed(1)} s old)`;
}
