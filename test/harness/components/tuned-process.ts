// Preloaded before a service's main.ts. Sets one constant per environment variable.
import { changeConstants } from "@isochrone/runtime/testing";

const VARIABLE = /^ISOCHRONE_TEST_CONSTANT_(\w+)\.(\w+)$/;

const sections: Record<string, Record<string, unknown>> = {};
for (const [name, value] of Object.entries(process.env)) {
  const [, section, key] = VARIABLE.exec(name) ?? [];
  if (section === undefined || key === undefined || value === undefined) continue;
  (sections[section] ??= {})[key] = JSON.parse(value);
}
changeConstants(sections);
