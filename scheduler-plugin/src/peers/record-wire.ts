// Wire format of decisions between replicas: the API's fields, and what scoring again needs.
import { parseJson } from "@isochrone/primitives";
import type { PeerCost, PeerCosts } from "@isochrone/placement";
import { DecisionSchema } from "@isochrone/topology";
import type { Candidate, Peer, Rtt } from "@isochrone/topology";
import { Type } from "typebox";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { PlanSchema } from "../adapters/decision-routes.ts";
import { shownPeers } from "../domain/decision-changes.ts";
import { podOf } from "../domain/decision-log.ts";
import type { DecisionLog, LoggedAct, SharedDecision } from "../domain/decision-log.ts";
import type { LoggedPlan } from "../domain/plan-log.ts";
import { MAX_NAME_CHARACTERS } from "../domain/pod.ts";

const Nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) =>
  Type.Union([schema, Type.Null()]);
const Name = Type.String({ maxLength: MAX_NAME_CHARACTERS });
const Amount = Nullable(Type.Number({ minimum: 0 }));

const IdentitySchema = Type.Object({
  namespace: Name,
  name: Name,
  uid: Name,
  workflow: Name,
  labelled: Type.Boolean(),
  workloads: Type.Array(Name, { maxItems: 100 }),
  requests: Type.Object({ cpuMillicores: Amount, memoryBytes: Amount }),
  cpuLimitMillicores: Type.Optional(Amount),
});

const SharedDecisionSchema = Type.Object({
  replica: Nullable(Name),
  uid: Name,
  identity: Nullable(IdentitySchema),
  siblingsOnBest: Type.Integer({ minimum: 0 }),
  planned: Nullable(Name),
  place: Type.Object({
    state: Type.Union([Type.Literal("pending"), Type.Literal("bound"), Type.Literal("gone")]),
    node: Nullable(Name),
    atMs: Nullable(Type.Number()),
  }),
  decision: DecisionSchema,
});

const PageSchema = Type.Object({
  replica: Name,
  life: Name,
  leads: Type.Boolean(),
  cursor: Name,
  more: Type.Boolean(),
  decisions: Type.Array(Type.Unknown(), { maxItems: 100_000 }),
  plans: Type.Array(Type.Unknown(), { maxItems: 100_000 }),
  /** The leader's; null if unchanged or not the leader. */
  proposals: Nullable(Type.Array(Type.Unknown(), { maxItems: 100_000 })),
});

export type Page = Static<typeof PageSchema>;
type WireDecision = Static<typeof SharedDecisionSchema>;

const page = Compile(PageSchema);
const sharedDecision = Compile(SharedDecisionSchema);
const plan = Compile(PlanSchema);

export function parsePage(text: string): Page | null {
  try {
    const json: unknown = parseJson(text);
    return page.Check(json) ? json : null;
  } catch {
    return null;
  }
}

export function encodeDecision(log: Pick<DecisionLog, "show">, shared: SharedDecision): WireDecision {
  const { decision: logged, replica, place } = shared;
  const { replica: _, ...decision } = log.show(logged);
  const { identity = null, peers = null, siblingsOnBest = 0, planned = null } = logged;
  const names = new Set(decision.candidates.map(({ name }) => name));
  return {
    replica,
    uid: podOf(logged).uid,
    identity: identity === null ? null : { ...identity, workloads: [...identity.workloads] },
    siblingsOnBest,
    planned,
    place,
    decision: { ...decision, ...(peers === null ? {} : { peers: shownPeers(peers, names) }) },
  };
}

export function decodeDecision(value: unknown): SharedDecision | null {
  if (!sharedDecision.Check(value)) return null;
  const { replica, uid, identity, siblingsOnBest, planned, place, decision } = value;
  const { id, kind = "score", pod, outcome, peers: shown, binding: _, now: __, ...rest } = decision;
  if (Number.isNaN(Date.parse(rest.at)) || id.length > MAX_NAME_CHARACTERS) return null;
  if (identity !== null && (identity.namespace !== pod.namespace || identity.name !== pod.name)) return null;
  const peers = shown === undefined ? null : peersOf(shown, rest.candidates);
  const logged: LoggedAct = {
    id,
    kind,
    pod: { ...pod, uid },
    ...(identity === null ? {} : { identity }),
    peers,
    siblingsOnBest,
    planned,
    show: () => rest,
  };
  return { decision: logged, replica, place, outcome };
}

export function isPlan(value: unknown): value is LoggedPlan {
  return plan.Check(value) && !Number.isNaN(Date.parse(value.at));
}

function peersOf(shown: readonly Peer[], candidates: readonly Candidate[]): PeerCosts {
  const names = candidates
    .map(({ name }) => name)
    .filter((name) => shown.length === 0 || shown.some(({ rttMs }) => rttMs[name] !== undefined));
  const times = new Map(candidates.map(({ name, networkMs }) => [name, networkMs ?? Number.NaN]));
  return {
    names,
    networkMs: Float64Array.from(names, (name) => times.get(name)!),
    peers: shown.map(({ rttMs, errorMs = {}, ...peer }): PeerCost => {
      return {
        ...peer,
        ms: Float64Array.from(names, (name) => msOf(rttMs[name] ?? null)),
        errorMs: Float64Array.from(names, (name) => errorMs[name] ?? Infinity),
      };
    }),
  };
}

function msOf(rtt: Rtt): number {
  if (rtt === "unreachable") return Infinity;
  return rtt ?? Number.NaN;
}
