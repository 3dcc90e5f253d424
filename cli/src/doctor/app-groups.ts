import { GENERATED_ANNOTATION, isStoreError, KINDS } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { appGroupLabels, AppGroupMembers, readAppGroup, unmatchedSelectors } from "@isochrone/topology";
import type { AppGroupMember } from "@isochrone/topology";
import { NAME_A_CLUSTER, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

interface AppGroupFacts {
  readonly appGroups: number;
  readonly unmatched: readonly { readonly appGroup: string; readonly selectors: readonly string[] }[];
}

const SHOWN = 5;
const PARTS = {
  check: "selectors",
  looked:
    "selectors of AppGroups; labels of pods and of the pod templates of Deployments, StatefulSets and DaemonSets",
  rule: "each selector is the label appgroup.diktyo.x-k8s.io.workload of a pod that has the AppGroup's name as its label appgroup.diktyo.x-k8s.io",
};
const REMEDY =
  "Put both labels on the workload's pod template, or correct the selector (docs/appgroup.md); until then its dependencies are ignored.";

/** Null: AppGroups are not installed. Throws StoreErrors. */
export async function lookAtAppGroups(store: ClusterStore): Promise<AppGroupFacts | null> {
  const groups = await listedOrNone(store);
  if (groups === null) return null;
  const kinds = [KINDS.deployment, KINDS.statefulSet, KINDS.daemonSet];
  const pods = (await store.list(KINDS.pod, { metadataOnly: true })).items;
  const workloads = (await Promise.all(kinds.map((kind) => store.list(kind)))).flatMap(({ items }) => items);
  const members = new AppGroupMembers({
    members: [
      ...pods.flatMap((pod) => memberOf(pod, pod.metadata.labels)),
      ...workloads.flatMap((workload) => memberOf(workload, templateLabels(workload))),
    ],
    groups: groups.map(idOf),
    workloads: [],
  });
  // Generated AppGroups name observed workloads, labelled or not.
  const written = groups.filter(({ metadata }) => metadata.annotations?.[GENERATED_ANNOTATION] === undefined);
  return {
    appGroups: written.length,
    unmatched: written
      .map((group) => {
        const { namespace, name } = idOf(group);
        const selectors = unmatchedSelectors(readAppGroup(idOf(group), group.spec), members);
        return { appGroup: `${namespace}/${name}`, selectors };
      })
      .filter(({ selectors }) => selectors.length > 0)
      .sort((a, b) => (a.appGroup < b.appGroup ? -1 : 1)),
  };
}

/** @param facts null: nothing to check, see `why` */
export function judgeAppGroups(facts: AppGroupFacts | null, why: string): Verdict[] {
  if (facts === null) return [skipped({ ...PARTS, why, remedy: NAME_A_CLUSTER })];
  const { appGroups, unmatched } = facts;
  const named = unmatched
    .slice(0, SHOWN)
    .map(({ appGroup, selectors }) => `${appGroup}: ${shown(selectors)}`)
    .join("; ");
  const more = unmatched.length > SHOWN ? `; and ${unmatched.length - SHOWN} more AppGroups` : "";
  return [
    verdict(unmatched.length === 0, "warning", {
      ...PARTS,
      value:
        unmatched.length === 0
          ? `${appGroups} AppGroups, every selector matches`
          : `no pod and no pod template for ${named}${more}`,
      remedy: REMEDY,
    }),
  ];
}

function shown(selectors: readonly string[]): string {
  const more = selectors.length > SHOWN ? ` and ${selectors.length - SHOWN} more` : "";
  return `${selectors
    .slice(0, SHOWN)
    .map((selector) => JSON.stringify(selector))
    .join(", ")}${more}`;
}

async function listedOrNone(store: ClusterStore): Promise<readonly KubernetesObject[] | null> {
  try {
    return (await store.list(KINDS.appGroup)).items;
  } catch (error) {
    if (isStoreError(error, "not_found")) return null;
    throw error;
  }
}

function memberOf(
  { metadata }: KubernetesObject,
  labels: Readonly<Record<string, unknown>> | undefined,
): AppGroupMember[] {
  const place = appGroupLabels(labels);
  const { namespace = "default", name: workload } = metadata;
  return place === null ? [] : [{ namespace, ...place, workload, isBare: false }];
}

function templateLabels({ spec }: KubernetesObject): Readonly<Record<string, unknown>> {
  const { template } = looseFields<Record<"template", unknown>>(spec);
  const { metadata } = looseFields<Record<"metadata", unknown>>(template);
  return looseFields(looseFields<Record<"labels", unknown>>(metadata).labels);
}

function idOf({ metadata }: KubernetesObject): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? "default", name: metadata.name };
}
