type Sections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

let changed: Sections = {};

/**
 * Changes constants of services that this process starts later, because tests can't wait as long as
 * operators.
 */
export function changeConstants(sections: Sections): void {
  changed = sections;
}

export function testConstants(names: readonly string[]): Sections {
  return Object.fromEntries(Object.entries(changed).filter(([name]) => names.includes(name)));
}
