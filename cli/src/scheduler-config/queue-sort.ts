// Enables upstream's QueueSort for AppGroups (kubernetes-sigs/scheduler-plugins, TopologicalSort) in every
// profile.
import { isDnsLabel } from "@isochrone/kubernetes";
import { isMap, isSeq } from "yaml";
import type { Document, YAMLMap } from "yaml";
import { isRecord } from "@isochrone/primitives";
import { usageError } from "../errors.ts";
import { shown } from "../score/errors.ts";
import { recordsOf } from "./configuration-file.ts";
import type { ConfigurationFile } from "./configuration-file.ts";

const PLUGIN = "TopologicalSort";
const IN_TREE = "PrioritySort";

export const QUEUE_SORT_NOTES: readonly string[] = [
  `${PLUGIN} is in kube-schedulers that are built from kubernetes-sigs/scheduler-plugins alone; any other one refuses this configuration`,
  "its account needs get on appgroups.appgroup.diktyo.x-k8s.io, and every AppGroup that pods are labelled with must be in one of these namespaces: the plugin doesn't check whether it found one",
  "it orders pods that wait in the queue at the same time, and waits for none; planner.release=ordered holds pods at Isochrone's gate until those before them are bound, with any kube-scheduler",
];

/**
 * Profiles share one queue, so kube-scheduler requires the same QueueSort and arguments in all.
 * @param namespaces searched for AppGroups, in this order
 * @throws CommandError naming field, rule and value
 */
export function sortQueue(file: ConfigurationFile, namespaces: readonly string[]): void {
  const wrong = namespaces.find((name) => !isDnsLabel(name));
  if (wrong !== undefined) throw usageError(`--topological-sort must be a namespace, got ${shown(wrong)}`);
  const { document } = file;
  for (const [index, profile] of profilesOf(document).entries()) {
    refuseOthers(file, index, profile.toJS(document) as Readonly<Record<string, unknown>>);
    const queueSort = { enabled: [{ name: PLUGIN }], disabled: [{ name: "*" }] };
    document.setIn(["profiles", index, "plugins", "queueSort"], document.createNode(queueSort));
    setArguments(document, profile, namespaces);
  }
}

function profilesOf(document: Document): YAMLMap[] {
  const profiles = document.get("profiles");
  if (isSeq(profiles) && profiles.items.length > 0) return profiles.items.filter(isMap);
  const added = document.createNode([{ schedulerName: "default-scheduler" }]);
  document.set("profiles", added);
  return added.items;
}

/** Refuses a conflicting QueueSort: only one can be enabled. */
function refuseOthers(
  file: ConfigurationFile,
  index: number,
  { plugins }: Readonly<Record<string, unknown>>,
): void {
  if (plugins !== undefined && !isRecord(plugins))
    throw file.fail(["profiles", index, "plugins"], "must be an object", plugins);
  const { queueSort } = plugins ?? {};
  const { enabled } = isRecord(queueSort) ? queueSort : {};
  for (const [at, { name }] of recordsOf(enabled).entries())
    if (name !== PLUGIN && name !== IN_TREE)
      throw file.fail(
        ["profiles", index, "plugins", "queueSort", "enabled", at, "name"],
        `must be ${IN_TREE} or ${PLUGIN} for --topological-sort: only one QueueSort can be enabled`,
        name,
      );
}

function setArguments(document: Document, profile: YAMLMap, namespaces: readonly string[]): void {
  const wanted = document.createNode({ name: PLUGIN, args: { namespaces: [...namespaces] } });
  const configs: unknown = profile.get("pluginConfig");
  if (!isSeq(configs)) {
    profile.set("pluginConfig", document.createNode([wanted]));
    return;
  }
  const present = configs.items.filter(isMap).find((config) => config.get("name") === PLUGIN);
  if (present === undefined) configs.add(wanted);
  else present.setIn(["args", "namespaces"], document.createNode([...namespaces]));
}
