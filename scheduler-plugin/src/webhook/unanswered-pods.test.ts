import {
  KINDS,
  LABELS,
  PLACEMENT_GATE,
  PLACEMENT_LABEL,
  timestamp,
  WEBHOOK_ANSWER,
} from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { configuration, rulesOfRegistration } from "./registration.ts";
import { UnansweredPods } from "./unanswered-pods.ts";

const SINCE_MS = Date.parse("2026-01-01T00:00:10.500Z");
const ON = { [PLACEMENT_LABEL]: "enabled" };
const OFF = { [PLACEMENT_LABEL]: "disabled" };
const RULES = rulesOfRegistration(
  configuration(
    {
      target: { url: "https://example.com" },
      ownerClusterRole: null,
      timeoutMs: 2_000,
      schedulerNames: ["default-scheduler", "second"],
      excludedNamespaces: ["isochrone", "kube-system"],
      endpointSlices: true,
    },
    "",
  ),
);

interface PodFields {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly owner?: string;
  readonly spec?: Record<string, unknown>;
  readonly createdMs?: number;
}

function podOf({ labels = {}, annotations = {}, owner, spec = {}, createdMs = SINCE_MS }: PodFields) {
  const owners = owner === undefined ? [] : [{ apiVersion: "apps/v1", kind: owner, name: "x", uid: "1" }];
  return {
    ...KINDS.pod,
    metadata: {
      name: "p",
      namespace: "shop",
      creationTimestamp: timestamp(createdMs),
      labels,
      annotations,
      ownerReferences: owners,
    },
    spec,
  } satisfies KubernetesObject;
}

interface Around {
  readonly namespace?: Record<string, string>;
  readonly appGroup?: Record<string, string>;
  readonly isRemoved?: boolean;
  readonly type?: InformerChange["type"];
}

function count(fields: PodFields, around: Around = {}): number {
  const { namespace = ON, appGroup = null, isRemoved = false, type = "added" } = around;
  let found = 0;
  const unanswered = new UnansweredPods({
    rules: RULES,
    sinceMs: SINCE_MS,
    surroundings: () => ({
      namespace: { ...KINDS.namespace, metadata: { name: "shop", labels: namespace } },
      appGroup: appGroup && {
        ...KINDS.appGroup,
        metadata: { name: "a1", namespace: "shop", labels: appGroup },
      },
    }),
    isRemoved: () => isRemoved,
    onUnanswered: () => void found++,
  });
  unanswered.take({ type, object: podOf(fields) });
  return found;
}

describe("pods without the webhook's answer", () => {
  test("are new ones that ask by their namespace, their AppGroup or themselves, wherever they are by now", () => {
    expect(count({})).toBe(1);
    expect(count({ labels: ON }, { namespace: {} })).toBe(1);
    const labels = { [LABELS.appGroup]: "a1" };
    expect(count({ labels }, { namespace: {}, appGroup: ON })).toBe(1);
    expect(count({ spec: { nodeName: "n1", schedulerName: "second" } })).toBe(1);
  });

  test.each<[string, PodFields, Around]>([
    ["an answer", { annotations: { [WEBHOOK_ANSWER]: "no_planner" } }, {}],
    ["the gate from its manifest", { spec: { schedulingGates: [{ name: PLACEMENT_GATE }] } }, {}],
    ["no wish", {}, { namespace: {} }],
    ["a word against it", { labels: OFF }, {}],
    ["an AppGroup's word against it", { labels: { [LABELS.appGroup]: "a1" } }, { appGroup: OFF }],
    ["a DaemonSet", { owner: "DaemonSet" }, {}],
    ["another scheduler", { spec: { schedulerName: "volcano" } }, {}],
    ["an earlier time of creation", { createdMs: SINCE_MS - 2_000 }, {}],
    ["a webhook that was taken away on purpose", {}, { isRemoved: true }],
    ["changed, not come", {}, { type: "modified" }],
  ])("are not those with %s", (_, fields, around) => {
    expect(count(fields, around)).toBe(0);
  });
});

test("the rules of a registration are those that it was made by", () => {
  expect([...RULES.schedulerNames]).toEqual(["default-scheduler", "second"]);
  expect([...RULES.excludedNamespaces]).toEqual(["isochrone", "kube-system"]);
  const empty = { ...KINDS.mutatingWebhookConfiguration, metadata: { name: "x" }, webhooks: [{}] };
  expect(rulesOfRegistration(empty).schedulerNames.size).toBe(0);
});
