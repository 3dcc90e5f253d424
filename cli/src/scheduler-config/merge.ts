// Merges our extender into a KubeSchedulerConfiguration. Foreign content stays; merging is idempotent.
import { isCollection, isMap, isSeq } from "yaml";
import type { Document } from "yaml";
import { isDnsSubdomain } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import { usageError } from "../errors.ts";
import { shown } from "../score/errors.ts";
import { recordsOf } from "./configuration-file.ts";
import type { ConfigurationFile } from "./configuration-file.ts";
import { extenderEntry } from "./extender-entry.ts";
import type { ExtenderEntry, ExtenderRequest } from "./extender-entry.ts";
import { ignoreInProfiles, ignoringExtenders, profilesIgnoreResources } from "./ignored-resources.ts";
import { QUEUE_SORT_NOTES, sortQueue } from "./queue-sort.ts";

export interface MergeRequest extends ExtenderRequest {
  /** Name of a second scheduler. @default the cluster's own */
  readonly secondScheduler?: string | undefined;
  /** AppGroup namespaces for upstream's QueueSort. @default unchanged profiles */
  readonly topologicalSort?: readonly string[] | undefined;
}

interface Merged {
  readonly document: Document;
  readonly notes: readonly string[];
}

const DEFAULT_SCHEDULER = "default-scheduler";

export function mergeExtender(file: ConfigurationFile, request: MergeRequest): Merged {
  const notes: string[] = [];
  const { document } = file;
  if (request.secondScheduler !== undefined) becomeSecond(file, request.secondScheduler, notes);
  if (request.topologicalSort !== undefined) {
    sortQueue(file, request.topologicalSort);
    notes.push(...QUEUE_SORT_NOTES);
  }
  const extenders = recordsOf(file.json.extenders);
  const index = ownIndex(extenders, request);
  const others = extenders.filter((_, at) => at !== index);
  checkManaged(file, extenders, index, request.managedResources);
  const keepIgnored = request.managedResources.length > 0 && keepsIgnored(document, others, notes);
  if (keepIgnored) ignoreInProfiles(document, request.managedResources);
  const entry = extenderEntry(request, extenders[index] ?? {}, !keepIgnored);
  putEntry(document, index, entry);
  if (request.managedResources.length === 0 && request.secondScheduler === undefined)
    notes.push(
      "this kube-scheduler will ask about every pod, whatever its profile; --managed-resource or --second-scheduler leave other pods alone",
    );
  return { document, notes };
}

/** Index of the entry with our address, or our certificate name after an address change; else the end. */
function ownIndex(extenders: readonly Readonly<Record<string, unknown>>[], request: ExtenderRequest): number {
  const url = plainUrl(request.url);
  const same = extenders.findIndex(({ urlPrefix, tlsConfig }) => {
    if (typeof urlPrefix === "string" && plainUrl(urlPrefix) === url) return true;
    return (
      request.serverName !== undefined &&
      looseFields<Record<"serverName", unknown>>(tlsConfig).serverName === request.serverName
    );
  });
  return same < 0 ? extenders.length : same;
}

function plainUrl(text: string): string {
  return (URL.canParse(text) ? new URL(text).href : text).replace(/\/+$/, "");
}

/** kube-scheduler refuses a resource managed by two extenders. */
function checkManaged(
  file: ConfigurationFile,
  extenders: readonly Readonly<Record<string, unknown>>[],
  own: number,
  wanted: readonly string[],
): void {
  for (const [index, { managedResources }] of extenders.entries()) {
    if (index === own) continue;
    for (const [at, { name }] of recordsOf(managedResources).entries())
      if (wanted.includes(String(name)))
        throw file.fail(
          ["extenders", index, "managedResources", at, "name"],
          "must not be a resource of --managed-resource: only one extender may manage it",
          name,
        );
  }
}

/**
 * kube-scheduler replaces every profile's ignoredResources by what extenders declare ignoredByScheduler. Our
 * resource joins an existing list instead.
 */
function keepsIgnored(
  document: Document,
  others: readonly Readonly<Record<string, unknown>>[],
  notes: string[],
): boolean {
  if (!profilesIgnoreResources(document)) return false;
  const [overriding] = ignoringExtenders(others);
  if (overriding === undefined) return true;
  notes.push(
    `ignoredResources of the profiles have no effect: kube-scheduler replaces them by what the extender ${String(overriding["urlPrefix"])} declares ignoredByScheduler`,
  );
  return false;
}

function putEntry(document: Document, index: number, entry: ExtenderEntry): void {
  const extenders = document.get("extenders");
  if (!isSeq(extenders)) {
    document.set("extenders", document.createNode([entry]));
    return;
  }
  const present = extenders.get(index);
  if (!isMap(present)) {
    extenders.add(document.createNode(entry));
    return;
  }
  const wanted: Readonly<Record<string, unknown>> = { ...entry };
  for (const [key, value] of Object.entries(wanted))
    setUnlessEqual(document, ["extenders", index, key], value);
  for (const key of ["filterVerb", "tlsConfig", "managedResources"])
    if (!(key in wanted)) document.deleteIn(["extenders", index, key]);
}

function setUnlessEqual(document: Document, path: readonly (string | number)[], value: unknown): void {
  const present = document.getIn(path);
  const json: unknown = isCollection(present) ? present.toJS(document) : present;
  if (JSON.stringify(json) !== JSON.stringify(value)) document.setIn(path, document.createNode(value));
}

/** One profile with that name and its own Lease: processes that share a Lease would alternate. */
function becomeSecond(file: ConfigurationFile, name: string, notes: string[]): void {
  if (!isDnsSubdomain(name))
    throw usageError(
      `--second-scheduler must be a name of small letters, digits, dots and dashes: its Lease is called so, got ${shown(name)}`,
    );
  if (name === DEFAULT_SCHEDULER)
    throw usageError(
      `--second-scheduler must not be ${DEFAULT_SCHEDULER}: both schedulers would place the same pods, got ${shown(name)}`,
    );
  const { document } = file;
  keepProfile(file, name, notes);
  const election = document.get("leaderElection");
  if (!isMap(election)) document.set("leaderElection", document.createNode({ leaderElect: true }));
  setUnlessEqual(document, ["leaderElection", "resourceName"], name);
  if (!document.hasIn(["leaderElection", "resourceNamespace"]))
    document.setIn(["leaderElection", "resourceNamespace"], "kube-system");
}

function keepProfile(file: ConfigurationFile, name: string, notes: string[]): void {
  const { document } = file;
  const profiles = document.get("profiles");
  if (!isSeq(profiles) || profiles.items.length === 0) {
    document.set("profiles", document.createNode([{ schedulerName: name }]));
    return;
  }
  const names = recordsOf(file.json.profiles).map(({ schedulerName }) =>
    typeof schedulerName === "string" ? schedulerName : DEFAULT_SCHEDULER,
  );
  const own = names.indexOf(name);
  const kept = own >= 0 ? own : Math.max(0, names.indexOf(DEFAULT_SCHEDULER));
  const dropped = names.filter((_, index) => index !== kept);
  profiles.items = profiles.items.filter((_, index) => index === kept);
  setUnlessEqual(document, ["profiles", 0, "schedulerName"], name);
  if (own < 0) notes.push(`profile ${name} works as ${names[kept]} of the file does`);
  if (dropped.length > 0)
    notes.push(`left out, because the cluster's own scheduler serves them: profiles ${dropped.join(", ")}`);
}
