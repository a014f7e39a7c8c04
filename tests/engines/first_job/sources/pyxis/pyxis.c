/* A stand-in for Pyxis: the same options of srun, the image run by crun instead of Enroot. */
#include <stdlib.h>
#include <string.h>

#include <slurm/spank.h>

SPANK_PLUGIN(pyxis, 1);

enum { IMAGE, MOUNTS, WORKDIR, NAME, OTHER };
static char *given[OTHER];

static int take(int which, const char *value, int remote)
{
	(void)remote;
	if (which < OTHER && value)
		given[which] = strdup(value);
	return 0;
}

static struct spank_option options[] = {
	{ "container-image", "IMAGE", "squash file to run in", 1, IMAGE, take },
	{ "container-mounts", "FROM:TO,...", "folders of the node in the container", 1, MOUNTS, take },
	{ "container-workdir", "PATH", "working folder in the container", 1, WORKDIR, take },
	{ "container-name", "NAME", "name of the container", 1, NAME, take },
	{ "container-mount-home", "", "home folder in the container", 0, OTHER, take },
	{ "no-container-mount-home", "", "no home folder in the container", 0, OTHER, take },
	{ "container-writable", "", "writable image", 0, OTHER, take },
	{ "container-remap-root", "", "root in the container", 0, OTHER, take },
	SPANK_OPTIONS_TABLE_END
};

int slurm_spank_init(spank_t spank, int ac, char **av)
{
	for (struct spank_option *option = options; option->name; option++)
		if (spank_option_register(spank, option) != ESPANK_SUCCESS)
			return -1;
	return 0;
}

/* In the task's process, as its user, before it becomes the program: another program, which runs it in the image. */
int slurm_spank_task_init(spank_t spank, int ac, char **av)
{
	char **words;
	int count;

	if (!given[IMAGE])
		return 0;
	if (spank_get_item(spank, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || count < 1)
		return -1;
	spank_setenv(spank, "STAND_IN_IMAGE", given[IMAGE], 1);
	spank_setenv(spank, "STAND_IN_MOUNTS", given[MOUNTS] ? given[MOUNTS] : "", 1);
	spank_setenv(spank, "STAND_IN_PROGRAM", words[0], 1);
	words[0] = strdup("/usr/local/bin/enroot");
	return 0;
}
