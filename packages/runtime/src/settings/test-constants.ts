type Sections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

let changed: Sections = {};

/**
 * Changes constants of services that this process starts afterwards: tests can't wait as long as operators
 * can.
 */
export function changeConstants(sections: Sections): void {
  changed = sections;
}

/** What a test has changed in these sections; nothing in any other process. */
export function testConstants(names: readonly string[]): Sections {
  return Object.fromEntries(Object.entries(changed).filter(([name]) => names.includes(name)));
}
