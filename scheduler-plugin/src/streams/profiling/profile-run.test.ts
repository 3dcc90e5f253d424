import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { readReport } from "../domain/profiles.ts";
import { runOf } from "./profile-run.ts";

const CREATED = "2026-01-01T00:00:00Z";
const MINUTE_MS = 60_000;

function podWith(status: Record<string, unknown>): KubernetesObject {
  return {
    ...KINDS.pod,
    metadata: { namespace: "site", name: "gate-work-profile-1", creationTimestamp: CREATED },
    spec: {},
    status,
  };
}

function ended(terminated: object): KubernetesObject {
  const imageID = `example.com/stage@sha256:${"a".repeat(64)}`;
  return podWith({
    phase: "Succeeded",
    containerStatuses: [{ name: "stage", imageID, state: { terminated } }],
  });
}

describe("a profiling pod", () => {
  test("reports seconds per frame and the image that ran", () => {
    const times = { startedAt: "2026-01-01T00:00:05Z", finishedAt: "2026-01-01T00:00:15Z" };
    expect(runOf(ended({ exitCode: 0, message: "0.21\n", ...times }), 0)).toEqual({
      kind: "measured",
      secondsPerFrame: 0.21,
      image: `sha256:${"a".repeat(64)}`,
    });
    expect(runOf(ended({ exitCode: 0, message: "11.5", ...times }), 0)).toMatchObject({
      kind: "failed",
      failure: expect.stringContaining("the 11 s that it ran"),
    });
    expect(runOf(ended({ exitCode: 137, reason: "OOMKilled", message: "0.2" }), 0)).toEqual({
      kind: "failed",
      failure: "exit code 137 (OOMKilled)",
    });
  });

  test("that never starts is given up after ten minutes, with what it waits for", () => {
    const state = { waiting: { reason: "ImagePullBackOff" } };
    const pod = podWith({ phase: "Pending", containerStatuses: [{ name: "stage", state }] });
    expect(runOf(pod, 9 * MINUTE_MS)).toEqual({ kind: "under_way" });
    expect(runOf(pod, 11 * MINUTE_MS)).toEqual({
      kind: "failed",
      failure: "it hasn't ended within 10 minutes (Pending, ImagePullBackOff)",
    });
  });

  test("for which there is no room is none that failed", () => {
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
    expect(runOf(podWith({ phase: "Pending", conditions: [condition] }), 0)).toEqual({
      kind: "homeless",
    });
  });

  test("that the kubelet ended says why", () => {
    const status = { phase: "Failed", reason: "Evicted", message: "low on memory" };
    expect(runOf(podWith(status), 0)).toEqual({ kind: "failed", failure: "Evicted: low on memory" });
  });
});

describe("a report", () => {
  test.each(["", "NaN", "-1", "0", "1e-9", "Infinity", "0.2 s", "{}", "0x", "1e400"])(
    "%j is refused",
    (text) => {
      expect(readReport(text, null)).toContain(`got ${JSON.stringify(text)}`);
    },
  );

  test("that is long is shown in part", () => {
    expect(String(readReport("x".repeat(4_096), 10)).length).toBeLessThan(200);
  });
});
