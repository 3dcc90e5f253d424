import type { Application } from "../application.ts";
import type { FileSource } from "../files.ts";
import { readTosca, type ReadOptions } from "../read.ts";

/** Files of a test, by path. */
function memoryFiles(files: Readonly<Record<string, string>>): FileSource {
  return {
    read: async (path) => (Object.hasOwn(files, path) ? files[path]! : null),
    list: async (folder) => {
      const prefix = folder === "." ? "" : `${folder}/`;
      const inside = Object.keys(files).filter((path) => path.startsWith(prefix));
      const names = inside.map((path) => path.slice(prefix.length).split("/"));
      return [...new Map(names.map(([name = "", ...rest]) => [name, rest.length > 0]))].map(
        ([name, isFolder]) => ({ name, isFolder }),
      );
    },
  };
}

/** Reads `main.yaml`, which is `text`, beside other files. */
export async function readText(
  text: string,
  others: Readonly<Record<string, string>> = {},
  options: ReadOptions = {},
): Promise<Application> {
  return await readTosca("main.yaml", { files: memoryFiles({ "main.yaml": text, ...others }), ...options });
}

/** The error's message; "nothing failed" when there was none. */
export async function failureOf(
  text: string,
  others: Readonly<Record<string, string>> = {},
  options: ReadOptions = {},
): Promise<string> {
  return await readText(text, others, options).then(
    () => "nothing failed",
    (error: Error) => error.message,
  );
}

/** A template of a version with these lines; `body` has what stands in the topology. */
export function topology(body: string, head = "", version = "tosca_simple_yaml_1_3"): string {
  const key = version === "tosca_2_0" ? "service_template" : "topology_template";
  return `tosca_definitions_version: ${version}\n${head}\n${key}: { node_templates: { ${body} } }\n`;
}

/** `a -> b: HTTPRoute 100`, in order. */
export function routesOf({ channels }: Application): string[] {
  return channels
    .map(
      ({ source, target, relationshipType, priority }) =>
        `${source.name} -> ${target.name}: ${relationshipType} ${priority}`,
    )
    .sort();
}

/** A template of 1.3 with our routes; `body` from `topology_template` on, and what else stands beside it. */
export function template(body: string): string {
  return `tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [ "internal:/isochrone/1.0/profile.yaml" ]\n${body}`;
}

/** a calls b by the requirement given. */
export const pair = (requirement: string, rest = ""): string =>
  template(`${rest}
topology_template:
  node_templates:
    a:
      type: k8s:Service
      requirements:
      - route: ${requirement}
    b: { type: k8s:Service }
`);
