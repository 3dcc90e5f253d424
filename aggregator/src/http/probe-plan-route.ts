import type { FastifyInstance } from "fastify";
import { ProbePlanSchema, ProblemSchema, type ProbePlan } from "@isochrone/topology";
import { Type, type Static } from "typebox";
import type { ClusterState } from "../domain/cluster-state.ts";
import { selectPeers, type PeerRule } from "../domain/probe-plan.ts";
import { AggregatorError } from "../errors.ts";
import type { ProbeAddresses } from "../ports.ts";
import { contentEtag, isUnchanged } from "./etag.ts";
import { NoQuery } from "./query.ts";

const PlanParams = Type.Object({ node: Type.String({ maxLength: 253 }) });
type PlanParams = Static<typeof PlanParams>;

/** What probe plans are made of. */
export interface PlanSources {
  readonly addresses: ProbeAddresses;
  readonly rule: PeerRule;
  readonly cluster: () => ClusterState;
}

/** `GET /api/v1/probe-plan/{node}`. */
export function registerProbePlanRoute(app: FastifyInstance, sources: PlanSources): void {
  app.get<{ Params: PlanParams }>(
    "/api/v1/probe-plan/:node",
    {
      schema: {
        summary: "Whom a node's probe measures",
        params: PlanParams,
        querystring: NoQuery,
        response: {
          200: ProbePlanSchema,
          304: Type.Null({ description: "The probe has this plan" }),
          400: ProblemSchema,
          404: ProblemSchema,
          503: ProblemSchema,
        },
      },
    },
    (request, reply) => {
      const plan = buildPlan(request.params.node, sources);
      return isUnchanged(request, reply, `"${plan.version}"`) ? reply.send() : reply.send(plan);
    },
  );
}

function buildPlan(name: string, { addresses, rule, cluster }: PlanSources): ProbePlan {
  const { nodes } = cluster();
  const node = nodes.find((candidate) => candidate.name === name);
  if (node === undefined) throw new AggregatorError("unknown_node", `there is no node ${name}`);
  const identity = addresses.self(name);
  if (identity === null)
    throw new AggregatorError("probe_not_ready", `node ${name} has no probe with an address yet`);
  const peers = selectPeers(node, nodes, rule).flatMap((peer) => {
    const address = addresses.peer(name, peer.name);
    return address === null ? [] : [{ node: peer.name, zone: peer.zone, region: peer.region, ...address }];
  });
  const plan = { node: name, identity, zone: node.zone, region: node.region, peers };
  return { version: contentEtag(JSON.stringify(plan)).slice(1, -1), ...plan };
}
