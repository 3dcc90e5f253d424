import { array, assert, boolean, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { plan } from "../../planner/search/plan.ts";
import type { ApiObject } from "../objects/json.ts";
import { inQueueOrder } from "../queue-order.ts";
import {
  aModel,
  aNode,
  aPod,
  HOST,
  near,
  required,
  spreadOver,
  ZONE,
  type Fields,
} from "../testing/objects.ts";
import { problemOf } from "../testing/plans.ts";

const WEB = { app: "web" };
const RULES: Readonly<Record<string, Fields>> = {
  none: {},
  zones: { topologySpreadConstraints: [spreadOver(ZONE, 1, WEB)] },
  hosts: { topologySpreadConstraints: [spreadOver(HOST, 2, WEB)] },
  both: { topologySpreadConstraints: [spreadOver(ZONE, 1, WEB), spreadOver("rack", 2, WEB)] },
  domains: { topologySpreadConstraints: [spreadOver(ZONE, 2, WEB, { minDomains: 3 })] },
  narrow: { nodeSelector: { disk: "ssd" }, topologySpreadConstraints: [spreadOver(ZONE, 1, WEB)] },
  apart: required("podAntiAffinity", near(HOST, WEB)),
  racks: required("podAntiAffinity", near("rack", WEB)),
  together: required("podAffinity", near(ZONE, WEB)),
  port: { containers: [{ name: "main", ports: [{ hostPort: 80 }] }] },
};

const clusters = record({
  nodes: array(
    record({
      zone: constantFrom("z1", "z2", "z3", null),
      rack: constantFrom("r1", "r2", null),
      disk: constantFrom("ssd", "hdd"),
      pods: integer({ min: 1, max: 4 }),
    }),
    { minLength: 2, maxLength: 6 },
  ),
  placed: array(
    record({ node: integer({ min: 0, max: 5 }), web: boolean(), terminating: boolean(), loner: boolean() }),
    { maxLength: 4 },
  ),
  rule: constantFrom(...Object.keys(RULES)),
  replicas: integer({ min: 1, max: 6 }),
  seed: integer({ min: 0, max: 99 }),
});

describe("plans of one workload", () => {
  test("are let in pod by pod, and the workload is spread as promised", () => {
    let planned = 0;
    assert(
      property(clusters, ({ nodes: made, placed, rule, replicas, seed }) => {
        const nodes = made.map(({ zone, rack, disk, pods }, index) =>
          aNode(`n${index}`, zone, {
            labels: { disk, ...(rack === null ? {} : { rack }) },
            allocatable: { pods: String(pods) },
          }),
        );
        const others = placed.map(({ node, web, terminating, loner }, index) =>
          aPod(`old${index}`, {
            node: `n${node % nodes.length}`,
            labels: web ? WEB : {},
            metadata: terminating ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {},
            spec: loner ? required("podAntiAffinity", near(HOST, WEB)) : {},
          }),
        );
        const pods = Array.from({ length: replicas }, (_, index): ApiObject =>
          aPod(`web-${index}`, { labels: WEB, owner: "web", spec: RULES[rule]! }),
        );
        const model = aModel(nodes, others);
        const problem = problemOf(model, pods);
        const { assignment, complete } = plan(problem, { seed, now: () => 0, deadlineMs: 1, effort: 2_000 });
        if (!complete) return;
        planned++;
        const { steps } = inQueueOrder({ model, pods, assignment });
        expect(steps.map(({ rejection }) => rejection)).toEqual(pods.map(() => null));
        for (const constraint of problem.availability) {
          if (constraint.kind !== "span") continue;
          const domains = new Set(
            [...assignment].map((node) => constraint.domainOf[node]!).filter((id) => id >= 0),
          );
          for (const [domain, count] of constraint.placed.entries()) if (count > 0) domains.add(domain);
          expect(domains.size).toBeGreaterThanOrEqual(constraint.minDistinct);
        }
      }),
      { numRuns: 300, seed: 7 },
    );
    expect(planned).toBeGreaterThan(100);
  });
});
