// Contents of an image as CycloneDX (https://cyclonedx.org/docs/1.6/json), reproducible.
import type { NpmPackage } from "./npm-packages.ts";

interface SbomSubject {
  readonly name: string;
  readonly version: string;
  readonly builtAtMs: number;
}

export function sbomOf({ name, version, builtAtMs }: SbomSubject, packages: readonly NpmPackage[]): object {
  const own = { type: "application", "bom-ref": `isochrone-${name}`, name: `isochrone-${name}`, version };
  const components = new Map(packages.map((one) => [purlOf(one), componentOf(one)]));
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { timestamp: new Date(builtAtMs).toISOString(), component: own },
    components: [...components].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, component]) => component),
  };
}

function componentOf(one: NpmPackage): object {
  const purl = purlOf(one);
  const [group, short] = one.name.startsWith("@") ? one.name.split("/") : [undefined, one.name];
  return {
    type: "library",
    "bom-ref": purl,
    ...(group === undefined ? {} : { group }),
    name: short,
    version: one.version,
    ...(one.license === null ? {} : { licenses: [{ expression: one.license }] }),
    purl,
  };
}

function purlOf({ name, version }: NpmPackage): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}
