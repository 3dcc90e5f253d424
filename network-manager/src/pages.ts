import { readFile } from "node:fs/promises";
import type { Logger } from "@isochrone/runtime";
import { createHttpApp, type HttpApp } from "@isochrone/runtime/http";
import type { FlowPlan } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { TUNNEL } from "./domain/kernel-state.ts";
import { foreignRoots } from "./metrics.ts";
import type { Report } from "./reconciler.ts";

const BODY_LIMIT_BYTES = 1024;
const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;

interface PagesDeps {
  readonly node: string;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly ready: () => { readonly ready: boolean; readonly reasons: readonly string[] };
  readonly status: () => Status;
}

interface Status {
  readonly report: Report | null;
  readonly plan: FlowPlan | null | "wait";
  readonly planAgeSeconds: number | null;
}

export async function createPages({ node, status, ...deps }: PagesDeps): Promise<HttpApp> {
  const app = await createHttpApp({
    ...deps,
    hasSchemas: false,
    name: "network-manager",
    bodyLimitBytes: BODY_LIMIT_BYTES,
  });
  app.get("/api/v1/flows", async (request, reply) =>
    LOOPBACK.test(request.ip)
      ? { ...flowsPage(node, status()), devices: await devicesOf(status()) }
      : reply.code(403).send({ title: "only for connections from the node itself", status: 403 }),
  );
  return app;
}

async function devicesOf({ report }: Status): Promise<{ name: string; mtu: number | null }[]> {
  const names = new Set(report?.flows.flatMap(({ place }) => (place === null ? [] : [place.device])));
  return Promise.all([...names].sort().map(async (name) => ({ name, mtu: await mtuOf(name) })));
}

async function mtuOf(device: string): Promise<number | null> {
  const text = await readFile(`/sys/class/net/${device}/mtu`, "utf8").catch(() => "");
  return /^\d+\n$/.test(text) ? Number(text) : null;
}

function flowsPage(node: string, { report, plan, planAgeSeconds }: Status): object {
  const { epoch, generation, version } = plan === null || plan === "wait" ? NO_PLAN : plan;
  const planShown = { epoch, generation, version, ageSeconds: planAgeSeconds };
  if (report === null) return { node, mode: null, reason: null, plan: planShown, flows: [] };
  const { mode, reason, isSecond, pending, complaints, kernel, flows } = report;
  return {
    node,
    mode,
    reason,
    isSecond,
    plan: planShown,
    pendingChanges: pending,
    complaints,
    tunnel: tunnelShown(kernel),
    foreignQdiscs: kernel === null ? [] : foreignRoots(kernel),
    flows: flows.map((placement) => flowShown(placement, kernel)),
  };
}

function tunnelShown(kernel: Report["kernel"]): object | null {
  if (kernel === null || kernel.tunnel === null) return null;
  const { tunnel, refusedPackets, peers } = kernel;
  return { device: TUNNEL.device, ...tunnel, peers: [...peers], refusedPackets };
}

function flowShown({ flow, place, unmet }: Report["flows"][number], kernel: Report["kernel"]): object {
  const { id, next, bitsPerSecond } = flow;
  if (place === null) return { id, next, bitsPerSecond, device: null, unmet };
  const { device, ceilBitsPerSecond, rule, minor } = place;
  const { sentBytes, droppedPackets } = kernel?.counters.get(device)?.get(minor) ?? NO_COUNTERS;
  const routed = rule !== null;
  return { id, next, bitsPerSecond, device, ceilBitsPerSecond, routed, sentBytes, droppedPackets, unmet };
}

const NO_PLAN = { epoch: null, generation: null, version: null };
const NO_COUNTERS = { sentBytes: null, droppedPackets: null };
