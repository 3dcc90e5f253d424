// Converts the chart's RBAC files to questions for an API server.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { definedOf } from "@isochrone/primitives";

export interface Right {
  readonly verb: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly path?: string;
}

export interface FileRights {
  /** File name without extension: the component, then a dash and the optional feature. */
  readonly file: string;
  readonly account: string;
  readonly isOptional: boolean;
  readonly rights: readonly Right[];
  /** Rights granted by this file alone; they show whether the feature is on. */
  readonly own: readonly Right[];
}

export interface Installation {
  readonly release: string;
  readonly namespace: string;
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

interface RbacObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
}

const COMPONENTS = ["scheduler-plugin", "aggregator", "collector", "probe"];
/** Chart values to be filled in; without them the right is unknown. */
const OPEN_PLACE = /__[A-Z_]+__/;

/** Files depending on unknown values yield fewer or no questions. Throws the system's errors. */
export function readRbacFiles(folder: string, installation: Installation): FileRights[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .flatMap((name) => {
      const file = name.replace(/\.yaml$/, "");
      const component = COMPONENTS.find((each) => file === each || file.startsWith(`${each}-`));
      if (component === undefined) return [];
      const rights = rightsOf(readFileSync(join(folder, name), "utf8"), installation);
      const account = `${installation.release}-${component}`;
      return [{ file, account, isOptional: file !== component, rights }];
    });
  return files.map((each) => ({ ...each, own: ownOf(each, files) }));
}

function ownOf(file: Omit<FileRights, "own">, all: readonly Omit<FileRights, "own">[]): readonly Right[] {
  const others = all.filter((each) => each.account === file.account && each !== file);
  const given = new Set(others.flatMap(({ rights }) => rights).map((right) => JSON.stringify(right)));
  const own = file.rights.filter((right) => !given.has(JSON.stringify(right)));
  return own.length === 0 ? file.rights : own;
}

export function rightsOf(text: string, { release, namespace }: Installation): Right[] {
  const filled = text.replaceAll("__NAMESPACE__", namespace).replaceAll("__NAME__", release);
  return parseAllDocuments(filled)
    .map((document) => document.toJS() as RbacObject | null)
    .filter((object) => object !== null)
    .flatMap(({ kind, metadata, rules = [] }) => {
      if (kind !== "Role" && kind !== "ClusterRole") return [];
      const where = kind === "Role" ? metadata.namespace : undefined;
      return rules.flatMap((rule) => ofRule(rule, where));
    })
    .filter((right) => !OPEN_PLACE.test(JSON.stringify(right)));
}

function ofRule(rule: Rule, namespace: string | undefined): Right[] {
  const { apiGroups = [], resources = [], resourceNames, nonResourceURLs = [], verbs } = rule;
  const paths = nonResourceURLs.flatMap((path) => verbs.map((verb) => ({ verb, path })));
  const names = resourceNames ?? [undefined];
  const objects = apiGroups.flatMap((group) =>
    resources.flatMap((all) =>
      verbs.flatMap((verb) =>
        names.map((name) => {
          const [resource = "", subresource] = all.split("/");
          return {
            verb,
            group,
            resource,
            ...definedOf({ subresource, namespace, name }),
          };
        }),
      ),
    ),
  );
  return [...paths, ...objects];
}

/** For example `patch nodes/status`, `get leases isochrone/planner`. */
export function rightText({ verb, resource, subresource, namespace, name, path }: Right): string {
  if (path !== undefined) return `${verb} ${path}`;
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const which = [namespace, name].filter((part) => part !== undefined).join("/");
  return which === "" ? `${verb} ${what}` : `${verb} ${what} ${which}`;
}
