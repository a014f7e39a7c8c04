// The theme's search is a dialog without a name; screen readers say this one.
document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");

// A listing wider than the page is scrolled by the keyboard, too. Its width is known once fonts and styles are there.
window.addEventListener("load", () => {
  for (const listing of document.querySelectorAll("pre > code, pre, .md-typeset__scrollwrap")) {
    if (listing.scrollWidth > listing.clientWidth) listing.tabIndex = 0;
  }
});
