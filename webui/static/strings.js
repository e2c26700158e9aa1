// What scripts say, which the page holds in its own language.

const STRINGS = JSON.parse(document.body.dataset.strings);

export function say(name, values = {}) {
  return STRINGS[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}
