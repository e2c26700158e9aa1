// Every element that shows text of its own and does not reach WCAG AA against the nearest solid background.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const linear = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const wrong = [];
  for (const element of document.querySelectorAll("body *")) {
    const speaks = [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
    if (!speaks || !element.checkVisibility() || element.closest(".visually-hidden, svg, .skip")) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const [a, b] = [light(rgba(style.color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) {
      wrong.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)} ${element.textContent.trim().slice(0, 30)}`);
    }
  }
  return wrong;
}
