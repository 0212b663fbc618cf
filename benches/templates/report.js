"use strict";
const form = document.querySelector("form.filters");
const groups = [...document.querySelectorAll("details.group")];
if (form) {
  form.hidden = false;
  const fields = [...form.querySelectorAll("select")];
  form.addEventListener("change", () => {
    for (const group of groups) {
      group.hidden = fields.some(({ name, value }) => value && group.dataset[name] !== value);
    }
    for (const section of document.querySelectorAll("section.protocol")) {
      section.hidden = !section.querySelector("details.group:not([hidden])");
    }
  });
  for (const button of form.querySelectorAll("button")) {
    button.addEventListener("click", () => groups.forEach((group) => { group.open = button.dataset.open !== ""; }));
  }
}
function reveal() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target && target.matches("details")) {
    target.open = true;
    target.hidden = target.parentElement.hidden = false;
    target.scrollIntoView();
  }
}
addEventListener("hashchange", reveal);
reveal();
