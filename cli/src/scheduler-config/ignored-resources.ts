import { isMap, isSeq } from "yaml";
import type { Document, YAMLMap } from "yaml";
import { recordsOf } from "./configuration-file.ts";

const PLUGIN = "NodeResourcesFit";

export function profilesIgnoreResources(document: Document): boolean {
  return profilesOf(document).some((profile) => {
    const ignored: unknown = fitArgs(profile)?.get("ignoredResources");
    return isSeq(ignored) && ignored.items.length > 0;
  });
}

/** The extenders whose resources replace the lists of all profiles. */
export function ignoringExtenders<E extends Readonly<Record<string, unknown>>>(extenders: readonly E[]): E[] {
  return extenders.filter(({ managedResources }) =>
    recordsOf(managedResources).some(({ ignoredByScheduler }) => ignoredByScheduler === true),
  );
}

export function ignoreInProfiles(document: Document, resources: readonly string[]): void {
  for (const profile of profilesOf(document)) {
    const args = fitArgs(profile) ?? addFitArgs(document, profile);
    const ignored: unknown = args.get("ignoredResources");
    if (!isSeq(ignored)) {
      args.set("ignoredResources", document.createNode([...resources]));
      continue;
    }
    const present = new Set(ignored.toJS(document) as unknown[]);
    for (const resource of resources) if (!present.has(resource)) ignored.add(document.createNode(resource));
  }
}

function profilesOf(document: Document): YAMLMap[] {
  const profiles = document.get("profiles");
  return isSeq(profiles) ? profiles.items.filter(isMap) : [];
}

function fitArgs(profile: YAMLMap): YAMLMap | null {
  const args: unknown = fitConfig(profile)?.get("args");
  return isMap(args) ? args : null;
}

function fitConfig(profile: YAMLMap): YAMLMap | undefined {
  const configs: unknown = profile.get("pluginConfig");
  return isSeq(configs)
    ? configs.items.filter(isMap).find((config) => config.get("name") === PLUGIN)
    : undefined;
}

function addFitArgs(document: Document, profile: YAMLMap): YAMLMap {
  const args = document.createNode({}) as unknown as YAMLMap;
  const config = fitConfig(profile);
  if (config !== undefined) {
    config.set("args", args);
    return args;
  }
  const added = document.createNode({ name: PLUGIN, args }) as unknown as YAMLMap;
  const configs: unknown = profile.get("pluginConfig");
  if (isSeq(configs)) configs.add(added);
  else profile.set("pluginConfig", document.createNode([added]));
  return added.get("args") as YAMLMap;
}
