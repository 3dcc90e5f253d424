import type { Application } from "../application.ts";
import type { FileSource } from "../files.ts";
import { readTosca, type ReadOptions } from "../read.ts";

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

export async function readText(
  text: string,
  others: Readonly<Record<string, string>> = {},
  options: ReadOptions = {},
): Promise<Application> {
  return await readTosca("main.yaml", { files: memoryFiles({ "main.yaml": text, ...others }), ...options });
}

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

export function template(body: string): string {
  return `tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [ "internal:/isochrone/1.0/profile.yaml" ]\n${body}`;
}

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
