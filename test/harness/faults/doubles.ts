import type { KubernetesObject } from "@isochrone/kubernetes";
import type { AuditEvent } from "../control-plane/index.ts";

export interface AcceptedWrite {
  readonly object: string;
  /** Our part of the object after the write, without timestamps. */
  readonly says: string;
  readonly by: string;
  readonly atMs: number;
}

const WRITES = new Set(["create", "update", "patch", "delete"]);
const KEPT: Readonly<Record<string, (object: KubernetesObject) => unknown>> = {
  nodes: ({ metadata }) => ourAnnotations(metadata.annotations),
  networktopologies: ({ spec }) => spec?.["weights"],
  configmaps: (object) => object["data"],
  appgroups: ({ status }) => {
    const { topologyOrder, runningWorkloads } = status ?? {};
    return { topologyOrder, runningWorkloads };
  },
};

export function acceptedWrites(events: readonly AuditEvent[], accountPrefix: string): AcceptedWrite[] {
  return events
    .filter(
      ({ user, verb, code, resource }) =>
        user.startsWith(accountPrefix) && WRITES.has(verb) && code < 300 && resource in KEPT,
    )
    .toSorted((a, b) => a.receivedMs - b.receivedMs)
    .map(({ resource, namespace, name, userAgent, receivedMs, responseObject }) => ({
      object: [resource, namespace, name].filter(Boolean).join("/"),
      says: JSON.stringify(KEPT[resource]!(responseObject as KubernetesObject)),
      by: userAgent,
      atMs: receivedMs,
    }));
}

/** Returns writes that repeat the object's previous content. */
export function saidTwice(writes: readonly AcceptedWrite[]): AcceptedWrite[] {
  const last = new Map<string, string>();
  return writes.filter(({ object, says }) => {
    const isSame = last.get(object) === says;
    last.set(object, says);
    return isSame;
  });
}

/** Returns events of one replica that repeat an event of the same object instead of extending its series. */
export function toldTwice(events: readonly KubernetesObject[]): string[] {
  const keys = events
    .filter(({ reportingController }) => String(reportingController).startsWith("isochrone.dev/"))
    .map(({ regarding, reason, note, reportingInstance }) => {
      const { kind, namespace = "", name } = regarding as { kind: string; namespace?: string; name: string };
      return `${kind} ${namespace}/${name}: ${String(reason)} (${String(note)}) by ${String(reportingInstance)}`;
    });
  return keys.filter((key, index) => keys.indexOf(key) !== index);
}

function ourAnnotations(annotations: Readonly<Record<string, string>> = {}): object {
  const ours = Object.entries(annotations).filter(
    ([key]) => key.startsWith("isochrone.dev/") && !key.endsWith("observed-at"),
  );
  return Object.fromEntries(ours.sort(([a], [b]) => (a < b ? -1 : 1)));
}
