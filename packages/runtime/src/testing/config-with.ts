import { loadSettings } from "../settings/load.ts";
import type { Section, SettingsOf } from "../settings/section.ts";

/**
 * Returns the configuration of a service for a test: settings, held to their rules, and bounds that are not
 * settings as they are.
 */
export function configWith<S extends Section, V extends object>(section: S, values: V): SettingsOf<S> & V {
  const entries = Object.entries(values);
  const isSetting = ([key]: [string, unknown]): boolean => Object.hasOwn(section.table, key);
  const file = { [section.name]: Object.fromEntries(entries.filter(isSetting)) };
  const loaded: Readonly<Record<string, unknown>> = loadSettings([section], { env: {}, file });
  const bounds = Object.fromEntries(entries.filter((entry) => !isSetting(entry)));
  return Object.assign({ ...(loaded[section.name] as SettingsOf<S> & V) }, bounds);
}
