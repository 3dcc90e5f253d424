import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { createMemoryStore } from "./adapters/memory/memory.ts";
import { StoreError } from "./store/errors.ts";
import { createEventRecorder } from "./events.ts";
import type { EventDropReason, EventRecorder, ReportedEvent } from "./events.ts";
import { KINDS } from "./kinds.ts";
import type { ClusterStore, KubernetesObject } from "./store/port.ts";

const CYCLE: ReportedEvent = {
  type: "Warning",
  reason: "DependencyCycle",
  action: "CalculateOrder",
  note: "p1 -> p2 -> p1",
};

describe("event recorder", () => {
  let clock: ManualClock;
  let store: ClusterStore;
  let recorder: EventRecorder;
  let appGroup: KubernetesObject;
  let failure: Error | null;
  let tries: number;
  let drops: EventDropReason[];
  const logger = new MemoryLogger();

  beforeEach(async () => {
    clock = new ManualClock();
    store = createMemoryStore({ clock });
    appGroup = await store.create({ ...KINDS.appGroup, metadata: { namespace: "shop", name: "a1" } });
    failure = null;
    tries = 0;
    drops = [];
    const attempt = async <T>(write: () => Promise<T>): Promise<T> => {
      tries += 1;
      if (failure) throw failure;
      return await write();
    };
    recorder = createEventRecorder({
      store: {
        create: (object) => attempt(() => store.create(object)),
        patch: (ref, patch) => attempt(() => store.patch(ref, patch)),
      },
      component: "scheduler-plugin",
      instance: "scheduler-plugin-0",
      clock,
      logger,
      onDrop: (reason) => drops.push(reason),
    });
  });

  afterEach(async () => {
    const stopped = recorder.stop();
    await clock.advance(10_000);
    await stopped;
  });

  const events = async (): Promise<KubernetesObject[]> => (await store.list(KINDS.event)).items;
  const onlyEvent = async (): Promise<KubernetesObject> => {
    const [event, ...others] = await events();
    expect(others).toEqual([]);
    return event as KubernetesObject;
  };

  it("writes what events.k8s.io/v1 asks for, in the object's namespace", async () => {
    recorder.event(appGroup, { ...CYCLE, related: { ...KINDS.pod, namespace: "shop", name: "p1-x" } });
    await clock.advance(100);
    const event = await onlyEvent();
    expect(event).toMatchObject({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace: "shop" },
      eventTime: expect.stringMatching(/^2023-11-14T22:13:20\.000\d{3}Z$/),
      reportingController: "isochrone.dev/scheduler-plugin",
      reportingInstance: "scheduler-plugin-0",
      ...CYCLE,
      regarding: {
        ...KINDS.appGroup,
        namespace: "shop",
        name: "a1",
        uid: appGroup.metadata.uid,
        resourceVersion: appGroup.metadata.resourceVersion,
      },
      related: { ...KINDS.pod, namespace: "shop", name: "p1-x" },
    });
    expect(event.metadata.name).toMatch(/^a1\.[0-9a-f]{13,}$/);
    expect(event["series"]).toBe(undefined);
    expect(recorder.counts()).toEqual({ reported: 1, writes: 1, dropped: 0 });
  });

  it("shows in its note what a terminal would act on", async () => {
    recorder.event(appGroup, { ...CYCLE, note: "a\u001b]0;x\u0007\nb\u202e" });
    await clock.advance(10_000);
    expect((await onlyEvent())["note"]).toBe(String.raw`a\u{1b}]0;x\u{7}\u{a}b\u{202e}`);
  });

  it("keeps events of cluster-scoped objects in the namespace default", async () => {
    recorder.event({ ...KINDS.node, name: "n1" }, CYCLE);
    await clock.advance(100);
    expect((await onlyEvent()).metadata.namespace).toBe("default");
  });

  it("counts repeats in a series, written at the first one and then once a minute at most", async () => {
    recorder.event(appGroup, CYCLE);
    await clock.advance(100);
    recorder.event(appGroup, CYCLE);
    await clock.advance(100);
    expect(await onlyEvent()).toMatchObject({ series: { count: 2 } });
    for (let times = 0; times < 50; times++) {
      recorder.event(appGroup, CYCLE);
      await clock.advance(1_000);
    }
    expect(await onlyEvent()).toMatchObject({ series: { count: 2 } });
    await clock.advance(20_000);
    expect(await onlyEvent()).toMatchObject({ series: { count: 52 } });
    expect(recorder.counts()).toEqual({ reported: 52, writes: 3, dropped: 0 });
  });

  it("begins another event when the old one was long ago", async () => {
    recorder.event(appGroup, CYCLE);
    await clock.advance(7 * 60_000);
    recorder.event(appGroup, CYCLE);
    await clock.advance(100);
    expect(await events()).toHaveLength(2);
  });

  it("begins the series again when the API server has forgotten its event", async () => {
    recorder.event(appGroup, CYCLE);
    await clock.advance(100);
    const { metadata } = await onlyEvent();
    await store.delete({ ...KINDS.event, namespace: "shop", name: metadata.name });
    recorder.event(appGroup, CYCLE);
    await clock.advance(10_000);
    const again = await onlyEvent();
    expect(again.metadata.name).not.toBe(metadata.name);
    expect(again["series"]).toBe(undefined);
  });

  it("merges a flood of notes into one series", async () => {
    for (let index = 0; index < 500; index++) recorder.event(appGroup, { ...CYCLE, note: `cycle ${index}` });
    await clock.advance(70_000);
    const stored = await events();
    expect(stored).toHaveLength(11);
    expect(stored.find(({ note }) => String(note).startsWith("(combined"))).toMatchObject({
      note: "(combined from similar events) cycle 10",
      series: { count: 490 },
    });
    expect(recorder.counts().dropped).toBe(0);
  });

  it("writes at most 20 events a second", async () => {
    for (let index = 0; index < 100; index++) recorder.event({ ...KINDS.node, name: `n${index}` }, CYCLE);
    await clock.advance(1_000);
    const first = (await events()).length;
    expect(first).toBeGreaterThan(15);
    expect(first).toBeLessThanOrEqual(21);
    await clock.advance(10_000);
    expect(await events()).toHaveLength(100);
  });

  it("waits while the API server is away, one try at a time, and writes all when it is back", async () => {
    failure = new StoreError("unavailable", "connection refused");
    for (let index = 0; index < 30; index++) recorder.event({ ...KINDS.node, name: `n${index}` }, CYCLE);
    await clock.advance(60_000);
    expect(tries).toBeLessThan(20);
    failure = null;
    await clock.advance(10_000);
    expect(await events()).toHaveLength(30);
    expect(recorder.counts()).toEqual({ reported: 30, writes: 30, dropped: 0 });
  });

  it("drops and counts what nobody could read any more after a long outage", async () => {
    failure = new StoreError("unavailable", "connection refused");
    recorder.event(appGroup, CYCLE);
    recorder.event(appGroup, CYCLE);
    await clock.advance(11 * 60_000);
    expect(recorder.counts()).toEqual({ reported: 2, writes: 0, dropped: 2 });
    expect(drops).toEqual(["expired", "expired"]);
  });

  it("drops what the API server refuses, and goes on", async () => {
    failure = new StoreError("forbidden", "events is forbidden");
    recorder.event(appGroup, CYCLE);
    await clock.advance(100);
    failure = null;
    recorder.event(appGroup, { ...CYCLE, reason: "UnknownDependency" });
    await clock.advance(100);
    expect(await onlyEvent()).toMatchObject({ reason: "UnknownDependency" });
    expect(drops).toEqual(["refused"]);
  });

  it("waits while a fence says that this replica does not lead, and writes when it does again", async () => {
    failure = new StoreError("fenced", "not written: the lease is not held");
    recorder.event(appGroup, CYCLE);
    await clock.advance(60_000);
    expect(await events()).toEqual([]);
    failure = null;
    await clock.advance(10_000);
    expect(await onlyEvent()).toMatchObject({ reason: "DependencyCycle" });
    expect(drops).toEqual([]);
  });

  it("takes a creation whose answer was lost for done", async () => {
    failure = new StoreError("already_exists", "exists");
    recorder.event(appGroup, CYCLE);
    await clock.advance(60_000);
    expect(tries).toBe(1);
    expect(recorder.counts()).toEqual({ reported: 1, writes: 1, dropped: 0 });
  });

  it("holds a bounded number of events while nothing can be written", async () => {
    failure = new StoreError("unavailable", "connection refused");
    for (let index = 0; index < 2_100; index++) recorder.event({ ...KINDS.node, name: `n${index}` }, CYCLE);
    expect(recorder.counts()).toEqual({ reported: 2_100, writes: 0, dropped: 100 });
    expect(new Set(drops)).toEqual(new Set(["overflow"]));
  });

  it("cuts a note at 1024 bytes without breaking a character", async () => {
    recorder.event(appGroup, { ...CYCLE, note: `a${"é".repeat(600)}` });
    await clock.advance(100);
    const note = String((await onlyEvent())["note"]);
    expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1024);
    expect(note).toMatch(/^aé+\.\.\.$/);
  });

  it("never throws, whatever it is given", async () => {
    recorder.event(null as never, CYCLE);
    recorder.event(appGroup, undefined as never);
    await clock.advance(100);
    expect(recorder.counts()).toEqual({ reported: 2, writes: 0, dropped: 2 });
  });

  it("writes what is pending when it is stopped, and nothing later", async () => {
    recorder.event(appGroup, CYCLE);
    await recorder.stop();
    recorder.event(appGroup, { ...CYCLE, note: "later" });
    expect(await onlyEvent()).toMatchObject({ note: CYCLE.note });
    expect(drops).toEqual(["stopped"]);
  });

  it("stops in time although the API server does not answer", async () => {
    recorder = createEventRecorder({
      store: { create: () => new Promise(() => undefined), patch: () => new Promise(() => undefined) },
      component: "scheduler-plugin",
      clock,
      logger,
    });
    recorder.event(appGroup, CYCLE);
    const stopped = recorder.stop();
    await clock.advance(2_000);
    await clock.advance(10_000);
    await stopped;
    expect(recorder.counts()).toEqual({ reported: 1, writes: 0, dropped: 1 });
  });
});
